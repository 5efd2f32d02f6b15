package host

import (
	"context"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A server that takes long over its list is left out, and can be waited for.
func TestWaitForTools(t *testing.T) {
	b := newBench(t, nil)
	garden := server.New(mcp.Implementation{Name: "garden", Version: "1"}, nil)
	server.AddTool(garden, "water", "Water the garden", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
	release := make(chan struct{})
	b.attach("garden", mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodToolsList {
			<-release
		}
		return garden.Serve(ctx, c)
	}))
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := b.host.WaitForTools(ended, "garden"); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
	if err := b.host.WaitForTools(t.Context(), "nobody"); err == nil {
		t.Error("a server that does not exist has tools")
	}
	done := make(chan error, 1)
	go func() { done <- b.host.WaitForTools(t.Context(), "garden") }()
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, tool := range b.host.Tools(ended) {
		if tool.Server == "garden" && tool.Tool.Name == "water" {
			return
		}
	}
	t.Error("the tools that were waited for are not there")
}
