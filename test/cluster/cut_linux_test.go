package cluster

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/linktest"
	"github.com/tenon-mcp/tenon/mcp"
)

// direct connects a client to one replica, without nginx.
func (r *replica) direct(t testing.TB, rev mcp.Revision, o *client.Options) *client.Client {
	t.Helper()
	w := *r.w
	w.nginx = "http://" + r.addr + "/mcp"
	return w.dial(t, rev, o)
}

// members waits until a replica sees this many members.
func (r *replica) members(t testing.TB, want int) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if got := len(r.status(t).Cluster.Members); got == want {
			return
		} else if time.Since(begin) > hangs {
			t.Fatalf("%s sees %d members, not %d", r.name, got, want)
		}
	}
}

// A replica that is cut off from Redis alone serves modern clients, ends the calls
// that it has, refuses older clients at once, is no member for the others after its
// lease, and takes part again when it reaches Redis.
func TestReplicaCutOffFromRedis(t *testing.T) {
	modern, _, servers := twoShops(t)
	var l *linktest.Link
	w := startEach(t, 3, servers, "", func(i int, r *replica) {
		if i == 0 {
			l = linktest.New(t, r.w.redis.Addr)
			u, err := url.Parse(r.w.redis.URL)
			if err != nil {
				t.Fatal(err)
			}
			u.Host = l.Addr
			r.env = append(r.env, "TENON_REDIS="+u.String())
		}
	})
	cut, other := w.replicas[0], w.replicas[1]
	newer, older := w.dial(t, mcp.Rev20260728, nil), other.direct(t, mcp.Rev20250618, nil)
	there := cut.direct(t, mcp.Rev20250618, nil)
	result := make(chan error, 1)
	go func() {
		_, err := there.CallTool(t.Context(), "modern__wait", map[string]any{"name": "open"}, nil)
		result <- err
	}()
	expect(t, modern.waiting, "open")
	l.Cut()
	began, failed := time.Now(), 0
	for i := range 12 {
		if err := tries(t, newer); err != nil {
			t.Errorf("call %d of a modern client: %v", i, err)
		}
		if err := tries(t, older); err != nil {
			t.Errorf("call %d of an older client at another replica: %v", i, err)
		}
		if err := tries(t, there); err != nil {
			failed++
		}
	}
	t.Logf("%d of 12 calls of an older client at the replica failed; all took %s", failed, time.Since(began).Round(time.Millisecond))
	if failed == 0 {
		t.Error("the replica serves sessions without Redis")
	}
	close(modern.release)
	if err := <-result; err != nil {
		t.Errorf("the open call ended with %v", err)
	}
	other.members(t, 2)
	if resp, err := http.Get("http://" + cut.addr + "/readyz"); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the replica is not ready for modern clients: %v", err)
	}
	l.Mend()
	other.members(t, 3)
	recovers(t, there)
	for range 6 {
		call(t, there, "modern__add", map[string]any{"a": 1, "b": 1})
		call(t, older, "modern__add", map[string]any{"a": 1, "b": 1})
	}
	asks := w.dial(t, mcp.Rev20250618, &client.Options{Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) { return accept(ctx, e) }})
	for range 3 { // the replicas reach each other again
		if got := call(t, asks, "modern__order", map[string]any{"name": "salt"}); got != "100 g of salt" {
			t.Errorf("order: %s", got)
		}
	}
}
