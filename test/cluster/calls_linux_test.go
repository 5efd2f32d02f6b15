package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// accept answers each question with 100 grams.
func accept(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	return e.Accept(map[string]any{"grams": 100})
}

// twoShops are the servers of most tests: calls that ask for input are stateless
// with one, and stay open at a replica with the other.
func twoShops(t testing.TB) (modern, legacy *shop, servers string) {
	modern, legacy = openShop(t, false), openShop(t, true)
	return modern, legacy, fmt.Sprintf(`{"modern":{"type":"http","url":%q},"legacy":{"type":"http","url":%q}}`, modern.url, legacy.url)
}

// Clients of every revision call tools, answer questions, cancel calls and get
// told of changes, although each of their requests reaches another replica.
func TestEveryRevision(t *testing.T) {
	modern, legacy, servers := twoShops(t)
	w := start(t, 3, servers)
	for _, rev := range revisions {
		t.Run(string(rev), func(t *testing.T) {
			c := w.dial(t, rev, &client.Options{Elicit: accept})
			for name, h := range map[string]*shop{"modern": modern, "legacy": legacy} {
				t.Run(name, func(t *testing.T) {
					for i := range 7 {
						if got := call(t, c, name+"__add", map[string]any{"a": i, "b": 1}); got != fmt.Sprint(i+1) {
							t.Fatalf("add: %s", got)
						}
					}
					if rev >= mcp.Rev20250618 { // earlier ones have no elicitation
						what := fmt.Sprint("tea ", rev)
						for range 3 {
							if got := call(t, c, name+"__order", map[string]any{"name": what}); got != "100 g of "+what {
								t.Errorf("order: %s", got)
							}
						}
						if n := h.ordered(what); n != 3 {
							t.Errorf("ordered %d times", n)
						}
					}
					cancelled(t, c, h, name)
				})
			}
		})
	}
}

// call calls a tool and returns its text.
func call(t testing.TB, c *client.Client, tool string, args map[string]any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	res, err := c.CallTool(ctx, tool, args, nil)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res.Content.Text()
}

// cancelled cancels a call. The cancellation of an older client is a request of
// its own, which reaches another replica.
func cancelled(t *testing.T, c *client.Client, h *shop, server string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, server+"__wait", map[string]any{"name": t.Name()}, nil)
		result <- err
	}()
	expect(t, h.waiting, t.Name())
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	expect(t, h.ended, t.Name())
}

// expect waits for a value.
func expect[T comparable](t testing.TB, from <-chan T, want T) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	case <-time.After(hangs):
		t.Fatalf("%v did not happen", want)
	}
}

// A subscriber is told of each change once, whichever replica its stream is at,
// and nobody else is told.
func TestChangesReachEachSubscriberOnce(t *testing.T) {
	modern, _, servers := twoShops(t)
	w := start(t, 3, servers)
	var told [6]atomic.Int64
	var open sync.WaitGroup
	for i := range told {
		rev := []mcp.Revision{mcp.Rev20250618, mcp.Rev20260728}[i%2]
		c := w.dial(t, rev, nil)
		open.Add(1)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		filter := mcp.SubscriptionFilter{ResourceSubscriptions: []string{"modern+shop://prices"}}
		if i >= 4 {
			filter = mcp.SubscriptionFilter{PromptsListChanged: true} // wants something else
		}
		var once sync.Once
		go c.Listen(ctx, filter, func(n mcp.Notification) {
			if n.Method == mcp.NotificationSubscriptionsAcknowledged {
				once.Do(open.Done)
			}
			if n.Method == mcp.NotificationResourceUpdated {
				told[i].Add(1)
			}
		})
	}
	open.Wait()
	for n := int64(1); n <= 3; n++ {
		modern.s.ResourceUpdated("shop://prices")
		for begin := time.Now(); time.Since(begin) < hangs; time.Sleep(10 * time.Millisecond) {
			if told[0].Load() >= n && told[1].Load() >= n && told[2].Load() >= n && told[3].Load() >= n {
				break
			}
		}
		time.Sleep(300 * time.Millisecond) // for a second notification, which there must not be
		for i := range told {
			want := n
			if i >= 4 {
				want = 0
			}
			if got := told[i].Load(); got != want {
				t.Errorf("after %d changes, client %d was told %d times, want %d", n, i, got, want)
			}
		}
	}
}
