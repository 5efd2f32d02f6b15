package cluster

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A link passes connections on to an address, or keeps them open and passes
// nothing while it is cut, as a network that drops packets.
type link struct {
	addr string

	mu   sync.Mutex
	open chan struct{} // closed while bytes pass
}

// newLink returns a link to an address.
func newLink(t testing.TB, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{addr: listener.Addr().String(), open: make(chan struct{})}
	close(l.open)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				<-l.passes()
				there, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				go func() {
					defer from.Close()
					l.copy(from, there)
				}()
				defer there.Close()
				l.copy(there, from)
			}()
		}
	}()
	return l
}

// passes returns a channel that is closed when bytes pass.
func (l *link) passes() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *link) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		<-l.passes()
		if _, broken := to.Write(buf[:n]); err != nil || broken != nil {
			return
		}
	}
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.open)
}

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
	var l *link
	w := startEach(t, 3, servers, "", func(i int, r *replica) {
		if i == 0 {
			l = newLink(t, r.w.redis.Addr)
			u, err := url.Parse(r.w.redis.URL)
			if err != nil {
				t.Fatal(err)
			}
			u.Host = l.addr
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
	l.cut()
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
	l.mend()
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
