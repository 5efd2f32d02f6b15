// Package tasks implements the Tasks extension of the protocol,
// io.modelcontextprotocol/tasks: a tool call may return a task instead of its
// result, and the client fetches the result later.
//
// On a server, a [Manager] runs the tasks and an option makes a tool one. The
// tool stays an ordinary function: it may report progress, request input and
// be canceled.
//
//	m, err := tasks.NewManager(s, nil)
//	server.AddTool(s, "render", "Render a film", render, m.Tool(tasks.Optional, nil))
//
// Tasks are kept in a [Store]; a [Memory] store by default.
//
// In a client, the middleware [Client] waits for the results of tasks, so that
// calls need not know about them. [Start] returns the [Handle] of a task instead,
// and [Resume] that of a task which another process started.
//
//	c, err := client.Dial(ctx, dialer, &client.Options{Middleware: []mcp.Middleware{tasks.Client}})
//	h, err := tasks.Start(ctx, c, "render", film, nil)
//	res, err := h.Wait(ctx)
package tasks
