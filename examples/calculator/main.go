// A server in ten lines: one tool and one resource template, for clients of
// every revision of MCP, over stdio.
package main

import (
	"context"
	"log"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

type pair struct {
	A int `json:"a" doc:"the first number"`
	B int `json:"b" doc:"the second number"`
}

type sum struct {
	Sum int `json:"sum"`
}

func main() {
	s := server.New(mcp.Implementation{Name: "calculator", Version: "1.0"}, nil)
	server.AddTool(s, "add", "Add two numbers", func(_ context.Context, _ *mcp.Call, in pair) (sum, error) {
		return sum{in.A + in.B}, nil
	}, nil)
	s.AddTemplate(mcp.ResourceTemplate{URITemplate: "welcome://{userId}", Name: "welcome"}, welcome, nil)
	if err := stdio.Serve(context.Background(), s, nil); err != nil {
		log.Fatal(err)
	}
}

func welcome(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
	return server.TextResource("text/plain", "Welcome, "+vars["userId"]+"!"), nil
}
