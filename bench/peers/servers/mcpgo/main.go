// Command mcpgo is the measured server, gateway and client, written with
// mcp-go, with its defaults: unlike the other SDKs it then checks neither
// arguments nor results.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/tenon-mcp/tenon/bench/internal/counters"
	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/bench/internal/web"
)

func main() {
	f := side.Parse()
	counters.Serve()
	ctx := context.Background()
	var err error
	switch {
	case f.Call != "":
		var c *client.Client
		if c, err = connect(ctx, f.Call, f.Modern); err == nil {
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
		if err = server.ServeStdio(features(&f)); errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serveHTTP(f *side.Flags, s *server.MCPServer) {
	web.Listen(f.HTTP, server.NewStreamableHTTPServer(s, server.WithStateful(true)))
}

func newServer() *server.MCPServer {
	return server.NewMCPServer("bench", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true), server.WithPromptCapabilities(true))
}

func features(f *side.Flags) *server.MCPServer {
	s := newServer()
	addAdd := func(name string) {
		s.AddTool(mcp.NewTool(name, mcp.WithDescription("adds two integers"), mcp.WithInputSchema[side.AddIn](), mcp.WithOutputSchema[side.AddOut]()),
			mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in side.AddIn) (side.AddOut, error) {
				return side.AddOut{Sum: in.A + in.B}, nil
			}))
	}
	addAdd("add")
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("says the message again"), mcp.WithInputSchema[side.EchoIn]()),
		mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in side.EchoIn) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(in.Msg), nil
		}))
	s.AddTool(mcp.NewTool("steps", mcp.WithDescription("reports progress once")), steps(s))
	s.AddTool(mcp.NewTool("blob", mcp.WithDescription("returns a text of this size"), mcp.WithInputSchema[side.BlobIn]()),
		mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in side.BlobIn) (*mcp.CallToolResult, error) {
			t, err := side.Text(in.Size)
			return mcp.NewToolResultText(t), err
		}))
	s.AddTool(mcp.NewTool("length", mcp.WithDescription("counts the bytes of a text"), mcp.WithInputSchema[side.LengthIn](), mcp.WithOutputSchema[side.LengthOut]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in side.LengthIn) (side.LengthOut, error) {
			return side.LengthOut{Length: len(in.Text)}, nil
		}))
	for _, name := range f.Many(5) {
		addAdd(name)
	}
	s.AddResource(mcp.NewResource("test://static", "static", mcp.WithMIMEType("text/plain")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "static text"}}, nil
		})
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("asks for a greeting"), mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := mcp.NewTextContent(fmt.Sprintf("Please greet %q.", req.Params.Arguments["name"]))
			return mcp.NewGetPromptResult("a greeting", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, said)}), nil
		})
	return s
}

func steps(s *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if m := req.Params.Meta; m != nil && m.ProgressToken != nil {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": m.ProgressToken, "progress": 1, "total": 2})
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	}
}

func initialize(ctx context.Context, c *client.Client, modern bool) error {
	if err := c.Start(ctx); err != nil {
		return err
	}
	req := mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "bench", Version: "1"}}}
	if modern {
		req.Params.ProtocolVersion = "2026-07-28"
	}
	_, err := c.Initialize(ctx, req)
	return err
}

func connect(ctx context.Context, url string, modern bool) (*client.Client, error) {
	c, err := client.NewStreamableHttpClient(url)
	if err != nil {
		return nil, err
	}
	return c, initialize(ctx, c, modern)
}

// calls makes calls and turns the tree that this SDK returns into the struct
// that was asked for, as its users do.
func calls(ctx context.Context, c *client.Client, n int) {
	side.Calls(n, func() error {
		req := mcp.CallToolRequest{}
		req.Params.Name, req.Params.Arguments = "add", side.AddIn{A: 20, B: 22}
		res, err := c.CallTool(ctx, req)
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
	c, err := client.NewInProcessClient(features(f))
	if err != nil {
		return err
	}
	if err := initialize(ctx, c, false); err != nil {
		return err
	}
	calls(ctx, c, f.N)
	return nil
}

// gateway offers the tools of another server and hands calls on as they come.
func gateway(ctx context.Context, f *side.Flags) error {
	c, err := connect(ctx, f.Upstream, f.Modern)
	if err != nil {
		return err
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	s := server.NewMCPServer("bench", "1", server.WithToolCapabilities(true))
	for _, tool := range list.Tools {
		s.AddTool(tool, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			on := mcp.CallToolRequest{}
			on.Params.Name, on.Params.Arguments = req.Params.Name, req.Params.Arguments
			return c.CallTool(ctx, on)
		})
	}
	serveHTTP(f, s)
	return nil
}
