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
// Features whose types make the schemas ([AddTool], [AddPrompt]) panic when
// they cannot be used: that is a mistake in the program, found when it starts.
// Features that may come from elsewhere at run time (raw tools, resources,
// templates, completions) return an error instead. What was refused leaves no
// trace. Whatever is added takes the place of what had its name before.
//
// An error of a tool is for the model, and told to it. Errors of resources,
// prompts and completions are for the operator, and logged, unless they are an
// [*mcp.Error], which says what the caller may know.
//
// A tool that needs to know more asks with [Elicit] and returns the error it
// gets, as it is: the tool is then entered again from the top, with the answer.
// What it does before it asks must therefore be safe to do twice.
package server
