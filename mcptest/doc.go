// Package mcptest tests servers, and whatever else is an [mcp.Handler], over
// the real wire of every revision of the protocol, in memory.
//
//   - [Run] and [Script] play conversations that are written as text.
//   - [Connect] returns a Handler as a client of one revision sees it, and
//     [EveryEra] runs a test once for each revision.
//   - [Twice] finds out whether a handler that asks can be entered again; with
//     [Effects] it also finds one that acts before it asks.
//
// # Conversations
//
// A file of conversations is a txtar archive: free text, then sections that
// begin with a line "-- name --", each of which is one conversation. A file
// without sections is one conversation. Lines that begin with # are comments,
// and an indented line continues the one before it.
//
// A conversation in the language of the house is played once in every
// revision, so it says nothing of envelopes:
//
//	-- add --
//	call tools/call {"name":"add","arguments":{"a":1,"b":2}}
//	[..2025-03-26] result {"content":[{"type":"text","text":"{\"sum\":3}"}]}
//	result {"structuredContent":{"sum":3},…}
//
//	-- greet --
//	eras 2025-06-18..
//	call tools/call {"name":"greet"}
//	with progress log=debug
//	asked elicitation/create {"message":"Your name?",…}
//	answer elicitation/create {"action":"accept","content":{"name":"Ada"}}
//	note notifications/progress {"progress":1}
//	result {"content":[{"type":"text","text":"Hello, Ada"}]}
//
//	call makes a call; its params may be left out
//	with says that the call before it wants progress, or log lines
//	asked is what a question must say; without it only its method counts
//	answer is the answer to the next question with that method, or to the
//	     question of the asked line right above it
//	note is what must come on the side, in this order and nothing else
//	result, error is what the call comes to: "error -32602 some of the message"
//	eras limits the conversation to some revisions
//
// Brackets limit one line to some revisions, where it stands in place of the
// line below it if that is of the same kind.
//
// A conversation of frames is played as it is, each frame on its own line:
//
//	> {"jsonrpc":"2.0","id":1,"method":"ping"}
//	< {"jsonrpc":"2.0","id":1,"result":{}}
//	<none
//
//	>      the client sends this, whatever it is
//	<      the next frame of the server; time goes on for a minute at most
//	<~     several of these, one after another, may come in any order
//	<none  nothing comes; "<none 5s" lets that time pass first
//	wait   lets time pass: "wait 5s"
//
// What the server sends beyond that is a failure. In what is expected, *
// stands for any value, $name for a value that is kept under that name when it
// is first met and must be the same from then on, and … (or ...) as the last
// thing in an object or array for whatever else is there. In what is sent,
// $name is the value that was kept.
//
// Conversations run in a [testing/synctest] bubble: time is not real and
// waiting takes none. With the flag -mcptest.update, [Run] writes what was seen
// into the files; comments, * and $name and … stay. A test program that defines
// a flag -update of its own may use that instead.
package mcptest
