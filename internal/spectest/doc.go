// Package spectest validates messages with the published specification: the
// JSON Schema of every revision and the official example messages. It is for
// tests only.
//
// The files are not part of this repository. They are expected in
// ../shared/protocol beside the directory of go.mod; if they are missing,
// [Load] skips the test.
//
// Everything is safe for concurrent use. A schema is compiled when it is
// first used and cached for the life of the process.
package spectest
