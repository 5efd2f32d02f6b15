package bench

import (
	"context"
	"encoding/json"
	"testing"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addOut struct {
	Sum int `json:"sum"`
}

// BenchmarkCall is one typed tools/call in memory: arguments from a struct, to
// the server and back, the structured result in a struct again. Tenon checks
// the arguments and, on both sides, the output; so does the official SDK on its
// server's side.
func BenchmarkCall(b *testing.B) {
	b.Run("tenon/modern", func(b *testing.B) { benchTenon(b, mcp.Rev20260728) })
	b.Run("tenon/legacy", func(b *testing.B) { benchTenon(b, mcp.Rev20251125) })
	b.Run("go-sdk/legacy", benchGoSDK)
	b.Run("mcp-go/checked", func(b *testing.B) {
		benchMCPGo(b, mcpgoserver.WithInputSchemaValidation(), mcpgoserver.WithOutputSchemaValidation())
	})
	b.Run("mcp-go/unchecked", func(b *testing.B) { benchMCPGo(b) }) // its default: nothing is checked
}

func check(b *testing.B, sum int, err error) {
	if err != nil {
		b.Fatal(err)
	}
	if sum != 3 {
		b.Fatalf("1 + 2 = %d", sum)
	}
}

func benchTenon(b *testing.B, rev mcp.Revision) {
	s := server.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(s, "add", "adds", func(_ context.Context, _ *mcp.Call, in addIn) (addOut, error) {
		return addOut{in.A + in.B}, nil
	}, nil)
	door, err := era.NewServer(s, nil)
	if err != nil {
		b.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- door.ServeStream(context.Background(), far) }()
	var o client.Options
	peer, err := era.Dial(b.Context(), near, o.Profile(), &era.DialOptions{Known: rev})
	if err != nil {
		b.Fatal(err)
	}
	c := client.New(peer, &o)
	if _, err := client.All(c.Tools(b.Context())); err != nil { // from now on outputs are checked
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		out, err := client.Call[addOut](b.Context(), c, "add", addIn{1, 2}, nil)
		check(b, out.Sum, err)
	}
	b.StopTimer()
	peer.Close()
	<-served
}

func benchGoSDK(b *testing.B) {
	ctx := b.Context()
	s := gosdk.NewServer(&gosdk.Implementation{Name: "bench", Version: "1"}, nil)
	gosdk.AddTool(s, &gosdk.Tool{Name: "add", Description: "adds"}, func(_ context.Context, _ *gosdk.CallToolRequest, in addIn) (*gosdk.CallToolResult, addOut, error) {
		return nil, addOut{in.A + in.B}, nil
	})
	near, far := gosdk.NewInMemoryTransports()
	ss, err := s.Connect(ctx, far, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer ss.Close()
	c, err := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, near, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		res, err := c.CallTool(ctx, &gosdk.CallToolParams{Name: "add", Arguments: addIn{1, 2}})
		var out addOut
		if err == nil {
			out, err = again[addOut](res.StructuredContent)
		}
		check(b, out.Sum, err)
	}
}

// again turns the tree that the peers give into the struct that was asked for,
// as their users have to.
func again[T any](tree any) (v T, err error) {
	raw, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

func benchMCPGo(b *testing.B, o ...mcpgoserver.ServerOption) {
	ctx := b.Context()
	s := mcpgoserver.NewMCPServer("bench", "1", o...)
	s.AddTool(mcpgo.NewTool("add", mcpgo.WithDescription("adds"), mcpgo.WithInputSchema[addIn](), mcpgo.WithOutputSchema[addOut]()),
		mcpgo.NewStructuredToolHandler(func(_ context.Context, _ mcpgo.CallToolRequest, in addIn) (addOut, error) {
			return addOut{in.A + in.B}, nil
		}))
	c, err := mcpgoclient.NewInProcessClient(s)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Initialize(ctx, mcpgo.InitializeRequest{Params: mcpgo.InitializeParams{ProtocolVersion: "2025-11-25", ClientInfo: mcpgo.Implementation{Name: "bench", Version: "1"}}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := mcpgo.CallToolRequest{}
		req.Params.Name, req.Params.Arguments = "add", addIn{1, 2}
		res, err := c.CallTool(ctx, req)
		var out addOut
		if err == nil {
			out, err = again[addOut](res.StructuredContent)
		}
		check(b, out.Sum, err)
	}
}
