// Package permit decides which tool calls are allowed: by the rules of the
// configuration, by earlier answers of the user, and else by asking.
//
// A server cannot permit calls of its own tools. Its annotations can make a
// question stand out; they allow a call only for servers that the user trusts. An
// approval counts for the approved definition and server: if the description,
// schema or annotations of a tool change, or its server becomes another program,
// address or entry, the user is asked again, with the differences. The model does
// not get a changed definition before that.
//
// The first line that applies decides:
//
//	deny rule, always deny    no, and the model does not see the tool
//	--allow                   yes, with a warning if something has changed
//	changed since approved    ask, with the changes
//	ask rule                  ask
//	always allow, session     yes
//	allowed pattern           yes, if the call matches it
//	allow rule                yes
//	trusted and read-only     yes
//	otherwise                 ask
package permit
