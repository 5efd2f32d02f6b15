// Middleware is a func from Handler to Handler. It works the same in front of
// a server as behind a client, because a connection to a server is a Handler
// too.
package main

import (
	"context"
	"log"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// timing writes down how long each call took. Standard output belongs to the
// messages; log writes to standard error.
func timing(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		start := time.Now()
		res, err := next.Serve(ctx, c)
		log.Printf("%s took %s (error: %v)", c.Method, time.Since(start), err)
		return res, err
	})
}

// readOnly refuses tools that are not known to be harmless.
func readOnly(harmless ...string) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodToolsCall {
				name, _, err := mcp.DecodeCallToolParams(c.Params)
				if err != nil {
					return mcp.Result{}, err
				}
				for _, ok := range harmless {
					if name == ok {
						return next.Serve(ctx, c)
					}
				}
				return mcp.Result{}, mcp.InvalidParams("tool %q is not allowed here", name)
			}
			return next.Serve(ctx, c)
		})
	}
}

func main() {
	s := server.New(mcp.Implementation{Name: "guarded", Version: "1.0"}, &server.Options{
		Middleware: []mcp.Middleware{timing, readOnly("now")},
	})
	server.AddTool(s, "now", "Tell the time", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return time.Now().Format(time.RFC3339), nil
	}, nil)
	server.AddTool(s, "format_disk", "Never reached", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "gone", nil
	}, nil)
	if err := stdio.Serve(context.Background(), s, nil); err != nil {
		log.Fatal(err)
	}
}
