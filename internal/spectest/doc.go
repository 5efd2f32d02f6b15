// Package spectest holds messages against the published specification: the
// JSON Schema of every revision and the official example messages. It is for
// tests only.
//
// The files are not part of this repository. They are looked for beside it, in
// ../shared/protocol as seen from the directory of go.mod; where they are
// absent, [Load] skips the test and says so.
//
// Everything here may be used from many goroutines at once. A schema is
// compiled when it is first needed and kept for the life of the process.
package spectest
