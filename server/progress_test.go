package server_test

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestProgress(t *testing.T) {
	s, _ := newServer(server.Options{})
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) {
		for _, done := range []float64{0, 1, 1, 0.5, 2, math.NaN(), math.Inf(1), -1, 3} {
			server.Progress(c, done, 3, "")
		}
		server.Progress(c, 4, 0, "more than all")
		c.Notify(mcp.Notification{Method: mcp.NotificationMessage}) // other notes pass
		return "", nil
	})
	var box mailbox
	callTool(t, s, "t", "", func(c *mcp.Call) { c.OnNotification, c.Progress = box.put, true })
	expect(t, "wanted", box.take(), `progress {"progress":0,"total":3}
progress {"progress":1,"total":3}
progress {"progress":2,"total":3}
progress {"progress":3,"total":3}
progress {"progress":4,"message":"more than all"}
message`)
	callTool(t, s, "t", "", func(c *mcp.Call) { c.OnNotification = box.put })
	expect(t, "not wanted", box.take(), "message")
	callTool(t, s, "t", "", func(c *mcp.Call) { c.Progress = true }) // nobody listens
}

// Progress rises also when many tell it at once.
func TestProgressFromMany(t *testing.T) {
	s, _ := newServer(server.Options{})
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() { server.Progress(c, float64(i), 50, "") })
		}
		all.Wait()
		return "", nil
	})
	var box mailbox
	callTool(t, s, "t", "", func(c *mcp.Call) { c.OnNotification, c.Progress = box.put, true })
	last := -1
	for line := range strings.Lines(box.take()) {
		text, _, _ := strings.Cut(strings.TrimPrefix(line, `progress {"progress":`), ",")
		n, err := strconv.Atoi(text)
		if err != nil || n <= last {
			t.Fatalf("%s after %d (%v)", line, last, err)
		}
		last = n
	}
	if last != 49 {
		t.Errorf("the last was %d", last)
	}
}
