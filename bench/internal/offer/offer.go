// Package offer is what the measured servers of Tenon offer.
package offer

import (
	"context"
	"log"
	"strconv"

	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Server has the tools, the resource and the prompt that all programs have.
func Server(f *side.Flags) *server.Server {
	s := server.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(s, "add", "adds two integers", add, nil)
	server.AddTool(s, "echo", "says the message again", func(_ context.Context, _ *mcp.Call, in side.EchoIn) (string, error) {
		return in.Msg, nil
	}, nil)
	server.AddTool(s, "steps", "reports progress once", func(_ context.Context, c *mcp.Call, _ side.None) (string, error) {
		server.Progress(c, 1, 2, "")
		return "done", nil
	}, nil)
	server.AddTool(s, "blob", "returns a text of this size", func(_ context.Context, _ *mcp.Call, in side.BlobIn) (string, error) {
		return side.Text(in.Size)
	}, nil)
	server.AddTool(s, "length", "counts the bytes of a text", func(_ context.Context, _ *mcp.Call, in side.LengthIn) (side.LengthOut, error) {
		return side.LengthOut{Length: len(in.Text)}, nil
	}, nil)
	for _, name := range f.Many(5) {
		server.AddTool(s, name, "adds two integers", add, nil)
	}
	err := s.AddResource(mcp.Resource{URI: "test://static", Name: "static", MIMEType: "text/plain"},
		func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "static text"), nil
		}, nil)
	if err != nil {
		log.Fatal(err)
	}
	server.AddPrompt(s, "greet", "asks for a greeting", func(_ context.Context, _ *mcp.Call, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Please greet " + strconv.Quote(in.Name) + ".", nil
	}, nil)
	return s
}

func add(_ context.Context, _ *mcp.Call, in side.AddIn) (side.AddOut, error) {
	return side.AddOut{Sum: in.A + in.B}, nil
}
