package streamable_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/mcp"
)

// drain stops a node as a rolling restart does: the load balancer leaves it out,
// calls in flight complete, and it leaves the cluster last. streams says how many
// of its requests are streams, which do not end by themselves.
func (f *fleet) drain(n *node, streams int64) {
	f.t.Helper()
	f.mu.Lock()
	n.drained = true
	f.mu.Unlock()
	waitUntil(f.t, func() bool { return n.passing.Load() <= streams })
	n.handler.Shutdown()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	if err := n.web.Shutdown(ctx); err != nil {
		f.t.Errorf("calls did not complete: %v", err)
	}
	if err := n.replica.Shutdown(ctx); err != nil {
		f.t.Errorf("forwarded calls did not complete: %v", err)
	}
}

// All replicas are replaced one by one under load: no call fails, and sessions go
// on without another initialize.
func TestRollingRestart(t *testing.T) {
	f := newFleet(t, 3, nil)
	session := f.nodes[0].open()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var calls [2]atomic.Int64
	load := func(era int, body, want string, header ...string) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, _ := http.NewRequest("POST", f.url, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				for i := 0; i < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != 200 || !strings.Contains(string(answer), want) {
					t.Errorf("%s: %s %v", res.Status, answer, err)
					return
				}
				calls[era].Add(1)
			}
		})
	}
	for i := range 4 {
		load(0, fleetCall("add", `{"A":1,"B":2}`), "3", fleetHeaders("add")...)
		load(1, strings.Replace(toolCall(100+i, "progress"), `"_meta"`, `"_m"`, 1), "done", "Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-11-25")
	}
	busy := func() {
		for era := range calls {
			from := calls[era].Load()
			waitUntil(t, func() bool { return calls[era].Load() > from+20 || t.Failed() })
		}
	}
	for i := range f.nodes {
		busy()
		old := f.nodes[i]
		fresh := f.startNode(nil)
		f.mu.Lock()
		f.nodes = append(f.nodes, fresh)
		f.mu.Unlock()
		busy()
		f.drain(old, 0)
	}
	busy()
	close(stop)
	wg.Wait()
}

// By the counters of Redis, a call of 2026-07-28 costs no command, and a call in a
// session one.
func TestCommandsPerCall(t *testing.T) {
	s := redistest.Start(t, nil)
	f := onRedis(t, s, "count:", 1)
	n := f.nodes[0]
	session := n.open()
	const calls = 300
	commands := func(do func()) int64 {
		count := func() (n int64) {
			for line := range strings.SplitSeq(s.Do("INFO", "commandstats"), "\n") {
				name, rest, _ := strings.Cut(strings.TrimSpace(line), ":calls=")
				number, _, ok := strings.Cut(rest, ",")
				switch {
				case !ok || strings.HasPrefix(name, "cmdstat_info") || strings.HasPrefix(name, "cmdstat_ping"):
				default:
					k, _ := strconv.ParseInt(number, 10, 64)
					n += k
				}
			}
			return n
		}
		before := count()
		for range calls {
			do()
		}
		return count() - before
	}
	const background = calls / 4 // leases, epochs
	modern := commands(func() { n.say("POST", "", fleetCall("add", `{"A":1,"B":2}`), fleetHeaders("add")...) })
	legacy := commands(func() {
		if status, body := n.say("POST", session, strings.Replace(toolCall(1, "who"), `"_meta"`, `"_m"`, 1)); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	})
	t.Logf("%d calls: %d commands of 2026-07-28, %d in a session", calls, modern, legacy)
	if modern > background || legacy > calls+background {
		t.Errorf("%d calls: %d commands of 2026-07-28, %d in a session", calls, modern, legacy)
	}
}

// A subscription goes on while all replicas are replaced one by one.
func TestRollingRestartWithSubscriptions(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2, nil)
			v := f.visit(rev)
			l := v.listen(mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://one"}})
			defer l.stop()
			for _, old := range f.nodes[:2] {
				fresh := f.startNode(nil)
				f.mu.Lock()
				f.nodes = append(f.nodes, fresh)
				f.mu.Unlock()
				f.drain(old, 2)
			}
			for i := 0; ; i++ {
				f.nodes[2].server.ResourceUpdated("test://one")
				select {
				case got := <-l.heard:
					if strings.Contains(got, "test://one") && !strings.Contains(got, "acknowledged") {
						t.Logf("heard after %d tries", i)
						return
					}
				case err := <-l.ended:
					t.Fatalf("the subscription ended with %v", err)
				case <-time.After(20 * time.Millisecond):
				}
				if i > 1500 {
					t.Fatal("no change heard")
				}
			}
		})
	}
}
