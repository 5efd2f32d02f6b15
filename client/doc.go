// Package client makes typed calls to an MCP server.
//
// A [Client] stands on a Handler: a connection to a server of any revision, or
// a server in memory. It knows neither transports nor revisions.
//
//	c, err := client.Dial(ctx, dialer, nil)
//	if err != nil { … }
//	defer c.Close()
//	sum, err := client.Call[int](ctx, c, "add", map[string]int{"a": 1, "b": 2}, nil)
//
// # What a caller can rely on
//
// A Client may be used by many goroutines at once. A call starts no goroutine
// of its own. When its context ends, or one of its time limits, the context
// that the Handler was given ends too, so the server hears that nobody waits
// any more; the call returns when the Handler does.
//
// Errors of the server are [*mcp.Error] with Local unset. A call that took too
// long ends with a [*TimeoutError]. A tool that ran and failed is a result with
// IsError set for [Client.CallTool] and a [*ToolError] for [Call].
//
// # Time limits
//
// A call ends when nothing was heard from the server for IdleTimeout, and in
// any case after TotalTimeout. Progress and log lines that ride with the call
// are signs of life; a server sends them only to those who listen, so a call
// without CallOptions.Progress and without logging hears none. The time that a
// person takes to answer a question counts for the second limit alone.
//
// # Questions
//
// A server may ask for input before it answers. Questions go to the functions
// in [Options]; which of them are set is what the client declares that it can
// do. A question of another kind is refused, and the call that it belongs to
// fails, before anything reaches one of the functions. A form must be flat and
// bounded, an accepted answer gets the defaults of the fields that it leaves
// out, and an answer that does not fit its form is an error here and never
// sent. An error from one of the functions is the error of the call.
//
// # Results that are kept
//
// A server may say how long lists, resources and its description stay good.
// Such results are used again for the same method and parameters until then, or
// until news of a change is heard: by [Client.Listen], and for a client made by
// [Dial] also when an older server tells it unasked. Private ones are used again
// only for the principal that they were made for, see [Client.As]. What took
// several rounds is never kept.
//
// # Structured results
//
// [Client.Tools] remembers the output schemas of the tools it passes. From then
// on what a tool returns is checked against its schema, and a result that does
// not fit is an error that says where. Nothing is ever fetched to do so: a tool
// whose schema cannot be used (a reference out of it, an unknown dialect, a
// pattern that Go does not take) is refused before it is called.
// Options.SkipOutputCheck turns all this off.
package client
