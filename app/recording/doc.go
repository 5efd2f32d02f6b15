// Package recording writes the messages of one connection to a file and uses such
// files again.
//
// A [Recorder] writes messages as they pass, [Write] and [Read] write and read a
// whole [Recording]. [Replay] sends the client's messages to a server and compares
// its responses; a [Mock] serves a recording in place of the server. [Tap] runs a
// server and logs its standard input and output without changing them; a [Relay]
// sends the messages to another process.
package recording
