package term

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// /call waits for the tools of the server that it names, longer than for others.
func TestCallWaitsForAServerThatListsSlowly(t *testing.T) {
	garden := server.New(mcp.Implementation{Name: "garden", Version: "1"}, &server.Options{Middleware: []mcp.Middleware{func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodToolsList {
				time.Sleep(2500 * time.Millisecond) // longer than the host waits for others
			}
			return next.Serve(ctx, c)
		})
	}}})
	server.AddTool(garden, "water", "Water the garden", func(context.Context, *mcp.Call, struct{}) (string, error) { return "the garden is wet", nil }, nil)
	d := drive(t, nil, map[string]*server.Server{"garden": garden}, nil)
	d.types("/call garden/water")
	d.press("enter")
	d.until("the question", func() bool { return len(d.s.questions) == 1 || strings.Contains(d.view(), "unknown tool") })
	if view := d.view(); strings.Contains(view, "unknown tool") {
		t.Errorf("it did not wait:\n%s", view)
	}
}
