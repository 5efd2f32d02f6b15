// Package client makes typed calls to an MCP server.
//
// A [Client] uses an [mcp.Handler]: a connection to a server of any revision,
// or a server in memory. It is independent of transports and revisions.
//
//	c, err := client.Dial(ctx, dialer, nil)
//	if err != nil { … }
//	defer c.Close()
//	sum, err := client.Call[int](ctx, c, "add", map[string]int{"a": 1, "b": 2}, nil)
//
// # Calls
//
// A Client is safe for concurrent use. A call starts no goroutines. When its
// context ends or a time limit is reached, the context of the Handler ends too,
// so that the server is told that the call is cancelled; the call returns when
// the Handler does.
//
// Errors of the server are [*mcp.Error] with Local unset. A call that took too
// long fails with a [*TimeoutError]. A tool that failed is a result with
// IsError set for [Client.CallTool] and a [*ToolError] for [Call].
//
// # Time limits
//
// A call fails if the server sends nothing for IdleTimeout, and in any case
// after TotalTimeout. Progress notifications and log messages of the call
// restart the idle timeout; servers send them only if the client asks for them,
// with CallOptions.Progress or Options.Logging. While a user responds to an
// input request, only TotalTimeout applies.
//
// A call that the server continues as a task has no default TotalTimeout, and
// IdleTimeout counts only while a request to the server is open: a task may take
// hours. A TotalTimeout that is set explicitly still ends the call, and with it
// the task. Tasks need the middleware of package ext/tasks, see
// Options.Middleware.
//
// # Input requests
//
// A server may request input during a call. The functions in [Options] handle
// input requests; the client declares the capabilities for those that are set.
// If a server sends any other request, the call fails and no function is
// called. A form must be flat and within limits. The client adds the defaults
// of the form to an accepted response; a response that violates the form is an
// error and is not sent. An error from one of the functions is the error of the
// call.
//
// # Caching
//
// A server may allow clients to cache lists, resources and its discovery. The
// client reuses such results for the same method and parameters until they
// expire, or until it is notified of a change: through [Client.Listen] and, for
// a client made with [Dial], by notifications that older servers send without a
// subscription. Private results are reused only for the same principal, see
// [Client.As]. Results of calls that required input are not cached.
//
// # Structured results
//
// [Client.Tools] remembers the output schemas of the tools that it lists. From
// then on the client validates the structured content of these tools and
// returns an error that says what is wrong. It never fetches a schema. A tool
// whose output schema cannot be used (an external reference, an unknown
// dialect, an unsupported pattern) is not called. Options.SkipOutputCheck turns
// this off.
package client
