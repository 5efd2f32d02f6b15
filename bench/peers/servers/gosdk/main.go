// Command gosdk is the measured server, gateway and client, written with the
// official Go SDK.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/bench/internal/counters"
	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/bench/internal/web"
)

var info = &mcp.Implementation{Name: "bench", Version: "1"}

func main() {
	f := side.Parse()
	counters.Serve()
	ctx := context.Background()
	var err error
	switch {
	case f.Call != "":
		var c *mcp.ClientSession
		if c, err = connect(ctx, &mcp.StreamableClientTransport{Endpoint: f.Call}); err == nil {
			calls(ctx, c, f.N)
		}
	case f.InMemory:
		err = inMemory(ctx, &f)
	case f.Upstream != "":
		err = gateway(ctx, &f)
	case f.HTTP != "":
		side.Prepare()
		serveHTTP(&f, features(&f))
	default:
		err = features(&f).Run(ctx, &mcp.StdioTransport{})
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serveHTTP(f *side.Flags, s *mcp.Server) {
	every := func(*http.Request) *mcp.Server { return s }
	web.Listen(f.HTTP, mcp.NewStreamableHTTPHandler(every, &mcp.StreamableHTTPOptions{JSONResponse: !f.SSE, Stateless: f.Modern}))
}

func features(f *side.Flags) *mcp.Server {
	s := mcp.NewServer(info, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds two integers"}, add)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says the message again"},
		func(_ context.Context, _ *mcp.CallToolRequest, in side.EchoIn) (*mcp.CallToolResult, any, error) {
			return text(in.Msg), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "steps", Description: "reports progress once"}, steps)
	mcp.AddTool(s, &mcp.Tool{Name: "blob", Description: "returns a text of this size"},
		func(_ context.Context, _ *mcp.CallToolRequest, in side.BlobIn) (*mcp.CallToolResult, any, error) {
			t, err := side.Text(in.Size)
			return text(t), nil, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "length", Description: "counts the bytes of a text"},
		func(_ context.Context, _ *mcp.CallToolRequest, in side.LengthIn) (*mcp.CallToolResult, side.LengthOut, error) {
			return nil, side.LengthOut{Length: len(in.Text)}, nil
		})
	for _, name := range f.Many(5) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "adds two integers"}, add)
	}
	s.AddResource(&mcp.Resource{URI: "test://static", Name: "static", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "static text"}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "asks for a greeting", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := &mcp.TextContent{Text: fmt.Sprintf("Please greet %q.", req.Params.Arguments["name"])}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: said}}}, nil
		})
	return s
}

func add(_ context.Context, _ *mcp.CallToolRequest, in side.AddIn) (*mcp.CallToolResult, side.AddOut, error) {
	return nil, side.AddOut{Sum: in.A + in.B}, nil
}

func steps(ctx context.Context, req *mcp.CallToolRequest, _ side.None) (*mcp.CallToolResult, any, error) {
	if token := req.Params.GetProgressToken(); token != nil {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2})
		if err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func connect(ctx context.Context, t mcp.Transport) (*mcp.ClientSession, error) {
	return mcp.NewClient(info, nil).Connect(ctx, t, nil)
}

// calls makes calls and turns the tree that this SDK returns into the struct
// that was asked for, as its users do.
func calls(ctx context.Context, c *mcp.ClientSession, n int) {
	side.Calls(n, func() error {
		res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: side.AddIn{A: 20, B: 22}})
		if err != nil {
			return err
		}
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return err
		}
		var out side.AddOut
		err = json.Unmarshal(raw, &out)
		return side.Check(out.Sum, err)
	})
}

func inMemory(ctx context.Context, f *side.Flags) error {
	near, far := mcp.NewInMemoryTransports()
	if _, err := features(f).Connect(ctx, far, nil); err != nil {
		return err
	}
	c, err := connect(ctx, near)
	if err == nil {
		calls(ctx, c, f.N)
	}
	return err
}

// gateway offers the tools of another server and hands calls on as they come.
func gateway(ctx context.Context, f *side.Flags) error {
	c, err := connect(ctx, &mcp.StreamableClientTransport{Endpoint: f.Upstream})
	if err != nil {
		return err
	}
	s := mcp.NewServer(info, nil)
	for tool, err := range c.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		s.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return c.CallTool(ctx, &mcp.CallToolParams{Name: req.Params.Name, Arguments: req.Params.Arguments})
		})
	}
	serveHTTP(f, s)
	return nil
}
