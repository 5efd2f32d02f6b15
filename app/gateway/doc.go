// Package gateway shows many servers as one.
//
//	r, err := gateway.NewRouter([]gateway.Upstream{{Name: "notes", Handler: notes}, {Name: "sql", Handler: sql}}, nil)
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	return stdio.Serve(ctx, r, nil)
//
// A Router is an [mcp.Handler] over Handlers: it knows neither revisions nor
// transports, so clients and servers of every revision can be combined. Names of
// the servers' tools, prompts, resources and of everything else are changed, so
// that those of different servers differ, and changed back on the way to the
// server; see names.go. An [Override] renames or hides a tool or prompt.
//
// Before the Router come links: middleware that each can be used alone. A call
// passes first what limits it to a set ([Within]), then [Search], then the links
// that decide by tool and caller, and then the Router.
package gateway
