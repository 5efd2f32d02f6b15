// Package server makes a Handler out of features: tools, resources, prompts
// and completions. A tool is a struct and a func: its arguments are said once,
// as a Go type, and their schema, decoding and checking follow from it.
//
//	s := server.New(mcp.Implementation{Name: "calc", Version: "1.0"}, nil)
//	server.AddTool(s, "add", "Add two numbers", func(ctx context.Context, c *mcp.Call, in Pair) (Sum, error) {
//		return Sum{in.A + in.B}, nil
//	})
//
// A Server is an [mcp.Handler]: it is served over a transport, put behind
// middleware or a gateway, or called as it is. It knows nothing of revisions
// and nothing of connections, and it remembers nothing of its callers.
//
// A tool that needs to know more asks with [Elicit] and returns the error it
// gets, as it is: the tool is then entered again from the top, with the answer.
// What it does before it asks must therefore be safe to do twice.
package server
