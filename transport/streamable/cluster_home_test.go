package streamable_test

import (
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// With KeepSessions the replica that opened a session serves all its calls, until
// it stops: the client then opens another session by itself. KeepSessions may
// change its mind.
func TestSessionsAreKept(t *testing.T) {
	var keep atomic.Bool
	keep.Store(true)
	f := newFleet(t, 3, func(o *streamable.Options) { o.KeepSessions = keep.Load })
	c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: f.url, Era: era.DialOptions{Known: mcp.Rev20250618}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	replicas := func() map[string]int {
		t.Helper()
		seen := map[string]int{}
		for range 9 {
			res, err := c.CallTool(t.Context(), "who", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen[res.Content.Text()]++
		}
		return seen
	}
	first := replicas()
	if len(first) != 1 {
		t.Fatalf("the session was served by %v", first)
	}
	for _, n := range f.nodes {
		if first[n.replica.ID()] > 0 {
			n.kill()
		}
	}
	if _, err := c.CallTool(t.Context(), "who", nil, nil); err != nil {
		t.Logf("the first call after that: %v", err) // its connection to the replica broke
	}
	second := replicas()
	if len(second) != 1 {
		t.Errorf("the next session was served by %v", second)
	}
	for id := range second {
		if first[id] > 0 {
			t.Error("a replica that was killed serves a session")
		}
	}
	keep.Store(false)
	if all := replicas(); len(all) != 2 {
		t.Errorf("a session that is not kept was served by %v", all)
	}
}
