// Package server implements an [mcp.Handler] from features: tools, resources,
// prompts and completions. A tool is a Go function; the server derives the
// schema of its arguments, their decoding and their validation from the Go
// type.
//
//	s := server.New(mcp.Implementation{Name: "calc", Version: "1.0"}, nil)
//	server.AddTool(s, "add", "Add two numbers", func(ctx context.Context, c *mcp.Call, in Pair) (Sum, error) {
//		return Sum{in.A + in.B}, nil
//	}, nil)
//
// A Server is an [mcp.Handler]: serve it over a transport, wrap it in
// middleware, or call it directly. It is independent of protocol revisions and
// connections, and keeps no state about its clients.
//
// [AddTool] and [AddPrompt] derive schemas from Go types and panic if they
// cannot: that is a mistake in the program, found when it starts. The methods
// that add raw tools, resources, templates and completions return an error
// instead, because such features may come from elsewhere at run time. Adding a
// feature replaces the one with the same name.
//
// An error returned by a tool is reported to the model. Errors of resources,
// prompts and completions are logged and the client gets a general error,
// unless they are an [*mcp.Error], which is sent as it is.
//
// A tool that needs input from the user calls [Elicit] and returns the error
// that it gets: the tool is then called again from the top, with the response.
// It must therefore be able to repeat what it does before the input request, or
// use [Once].
package server
