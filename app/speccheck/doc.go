// Package speccheck checks MCP messages against the specification and explains
// them.
//
// [Check] checks a whole conversation. A [Conversation] checks messages one by
// one as they pass; package wirelog does that for every connection. [Rules] lists
// the rules, [Explain] says what each member of a message means.
package speccheck
