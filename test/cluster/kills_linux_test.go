package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// someRevisions are one of each kind: without and with resumable streams, and the
// newest.
var someRevisions = []mcp.Revision{mcp.Rev20250618, mcp.Rev20251125, mcp.Rev20260728}

// Clients go on when a replica dies that serves none of their calls: a session is
// at no replica.
func TestKillIdleReplica(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 3, servers)
	var clients []*client.Client
	for _, rev := range revisions {
		clients = append(clients, w.dial(t, rev, nil))
	}
	w.replicas[0].kill()
	for _, c := range clients {
		for i := range 4 {
			if got := call(t, c, "modern__add", map[string]any{"a": i, "b": 1}); got != fmt.Sprint(i+1) {
				t.Fatalf("add: %s", got)
			}
		}
	}
	w.replicas[1].kill()
	w.replicas[0].start()
	for _, c := range clients {
		call(t, c, "modern__add", map[string]any{"a": 1, "b": 1})
	}
}

// The client of an open call gets an error at once when its replica dies, and the
// server's call ends. The client goes on with others.
func TestKillWithOpenCall(t *testing.T) {
	modern, _, servers := twoShops(t)
	w := start(t, 3, servers)
	for _, rev := range someRevisions {
		t.Run(string(rev), func(t *testing.T) {
			c := w.dial(t, rev, nil)
			result := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), "modern__wait", map[string]any{"name": t.Name()}, nil)
				result <- err
			}()
			expect(t, modern.waiting, t.Name())
			owner := w.serving(t)
			owner.kill()
			began := time.Now()
			select {
			case err := <-result:
				if err == nil {
					t.Error("the call succeeded")
				}
				t.Logf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
			case <-time.After(hangs):
				t.Fatal("the client hears nothing")
			}
			expect(t, modern.ended, t.Name())
			call(t, c, "modern__add", map[string]any{"a": 1, "b": 1})
			owner.start()
		})
	}
}

// A replica dies while the user is asked. If the call is stateless, the answer
// is served by another replica; else the client gets an error that says what to do.
// What was ordered is ordered once.
func TestKillWithParkedQuestion(t *testing.T) {
	modern, legacy, servers := twoShops(t)
	w := start(t, 3, servers)
	for _, rev := range someRevisions {
		for name, h := range map[string]*shop{"modern": modern, "legacy": legacy} {
			t.Run(fmt.Sprint(rev, " to ", name), func(t *testing.T) {
				var killed []*replica
				var asked atomic.Int64
				c := w.dial(t, rev, &client.Options{Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
					if asked.Add(1) == 1 {
						for _, r := range w.parked(t, rev, name) {
							killed = append(killed, r)
							r.kill()
						}
					}
					return accept(ctx, e)
				}})
				what := "coffee " + t.Name()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), hangs)
				defer cancel()
				res, err := c.CallTool(ctx, name+"__order", map[string]any{"name": what}, nil)
				t.Logf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
				stateless := rev == mcp.Rev20260728 && name == "modern"
				switch {
				case err == nil && res.Content.Text() != "100 g of "+what:
					t.Errorf("the result is %q", res.Content.Text())
				case err != nil && stateless:
					t.Errorf("a stateless call failed: %v", err)
				case ctx.Err() != nil:
					t.Error("the client hears nothing")
				}
				if n := h.ordered(what); n > 1 || n == 1 && err != nil || n == 0 && err == nil {
					t.Errorf("ordered %d times; the call ended with %v", n, err)
				}
				if err != nil { // the client starts again
					call(t, c, name+"__order", map[string]any{"name": what})
					if n := h.ordered(what); n != 1 {
						t.Errorf("ordered %d times", n)
					}
				}
				for _, r := range killed {
					r.start()
				}
			})
		}
	}
}

// parked returns the replicas at which a call waits for input, and the stream of
// changes of an older client; of a stateless call any replica, since there is none.
func (w *world) parked(t testing.TB, rev mcp.Revision, server string) (at []*replica) {
	if rev == mcp.Rev20260728 && server == "modern" {
		return w.replicas[1:2]
	}
	for _, r := range w.replicas {
		if r.status(t).CallsWaiting > 0 || rev != mcp.Rev20260728 && r.connections(t) > 1 { // one is that of status
			at = append(at, r)
		}
	}
	if len(at) == 0 || len(at) == len(w.replicas) {
		t.Errorf("%d replicas have the call", len(at))
	}
	return at
}

// connections returns the number of connections from nginx, which has one for each
// open request.
func (r *replica) connections(t testing.TB) (n int) {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Error(err)
		return 0
	}
	_, port, _ := net.SplitHostPort(r.addr)
	number, _ := strconv.Atoi(port)
	local := fmt.Sprintf("0100007F:%04X", number)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); f[1] == local && f[3] == "01" { // established
			n++
		}
	}
	return n
}

// A subscriber whose replica dies subscribes again by itself and is told of later
// changes.
func TestKillWithSubscription(t *testing.T) {
	modern, _, servers := twoShops(t)
	w := start(t, 3, servers)
	for _, rev := range someRevisions {
		t.Run(string(rev), func(t *testing.T) {
			c := w.dial(t, rev, nil)
			told := make(chan struct{}, 1000)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ctx.Err() == nil { // Listen of a modern client ends with its stream
					c.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"modern+shop://prices"}}, func(n mcp.Notification) {
						if n.Method == mcp.NotificationResourceUpdated {
							told <- struct{}{}
						}
					})
				}
			}()
			until(t, modern, told)
			for _, r := range w.replicas { // one of them has the stream
				r.kill()
				until(t, modern, told)
				r.start()
			}
		})
	}
}

// until changes the resource until the subscriber is told.
func until(t *testing.T, h *shop, told <-chan struct{}) {
	t.Helper()
	for len(told) > 0 {
		<-told
	}
	for begin := time.Now(); ; {
		h.s.ResourceUpdated("shop://prices")
		select {
		case <-told:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(begin) > hangs {
			t.Fatal("the subscriber is not told of changes any more")
		}
	}
}

// All replicas are replaced one after the other while clients call: no call of a
// modern client fails, and older clients lose nothing either.
func TestRollingRestart(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 3, servers)
	var stop atomic.Bool
	var calls, failed [2]atomic.Int64
	var mu sync.Mutex
	var errs []string
	var all sync.WaitGroup
	for i := range 8 {
		kind := i % 2
		c := w.dial(t, []mcp.Revision{mcp.Rev20260728, mcp.Rev20250618}[kind], nil)
		all.Go(func() {
			for n := 0; !stop.Load(); n++ {
				calls[kind].Add(1)
				if _, err := c.CallTool(t.Context(), "modern__add", map[string]any{"a": n, "b": 1}, nil); err != nil {
					failed[kind].Add(1)
					mu.Lock()
					errs = append(errs, fmt.Sprint(kind, ": ", err))
					mu.Unlock()
				}
			}
		})
	}
	for range 2 {
		for _, r := range w.replicas {
			r.terminate()
			r.start()
		}
	}
	stop.Store(true)
	all.Wait()
	t.Logf("%d calls of modern clients, %d of older ones", calls[0].Load(), calls[1].Load())
	if failed[0].Load()+failed[1].Load() > 0 {
		t.Errorf("%d modern and %d older calls failed:\n%s", failed[0].Load(), failed[1].Load(), strings.Join(errs[:min(len(errs), 10)], "\n"))
	}
}
