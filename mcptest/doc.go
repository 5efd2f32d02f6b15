// Package mcptest tests servers, and any other [mcp.Handler], over real
// messages of every revision of the protocol, in memory.
//
//   - [Run] and [Script] run conversations that are written as text.
//   - [Connect] returns a Handler as a client of one revision sees it, and
//     [EveryEra] runs a test once for each revision.
//   - [Twice] checks that a handler that requests input can be called again;
//     with [Effects] it also finds one that acts before it asks.
//
// # Conversations
//
// A file of conversations is a txtar archive: free text, then sections that
// begin with a line "-- name --", each of which is one conversation. A file
// without sections is one conversation. Lines that begin with # are comments,
// and an indented line continues the previous one.
//
// A conversation of calls is run once in every revision, so it does not mention
// envelopes:
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
//	call    makes a call; the params are optional
//	with    makes the previous call ask for progress or log messages
//	asked   is an expected input request; without it only the method counts
//	answer  is the response to the next input request with that method, or to
//	        that of the asked line above it
//	note    is an expected notification; all must be listed, in order
//	result, error
//	        is the expected outcome: "error -32602 part of the message"
//	eras    limits the conversation to some revisions
//
// Brackets limit one line to some revisions. There it replaces the next line,
// if that is of the same kind.
//
// A conversation of frames consists of single messages, one per line:
//
//	> {"jsonrpc":"2.0","id":1,"method":"ping"}
//	< {"jsonrpc":"2.0","id":1,"result":{}}
//	<none
//
//	>      the client sends this, valid or not
//	<      the expected next frame of the server, within a minute of fake time
//	<~     several of these in a row may arrive in any order
//	<none  nothing arrives; "<none 5s" waits for that time first
//	wait   waits: "wait 5s"
//
// Any other frame from the server is a failure. In expected values, * matches
// any value, $name stores a value under that name and must have the same value
// from then on, and … (or ...) at the end of an object or array matches
// further members. In sent values, $name is replaced by the stored value.
//
// Conversations run in a [testing/synctest] bubble, in fake time. With the flag
// -mcptest.update, [Run] writes the actual messages to the files and preserves
// comments, *, $name and …. A test program that defines its own flag -update
// may use that instead.
package mcptest
