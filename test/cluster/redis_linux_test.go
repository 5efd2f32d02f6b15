package cluster

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// tries calls add and returns the error, with a bound only against hanging.
func tries(t testing.TB, c *client.Client) error {
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	_, err := c.CallTool(ctx, "modern__add", map[string]any{"a": 1, "b": 1}, nil)
	if ctx.Err() != nil {
		t.Fatal("a call hangs")
	}
	return err
}

// recovers waits until calls of a client succeed again at all replicas: each of them
// notices by itself that Redis is back.
func recovers(t testing.TB, c *client.Client) {
	t.Helper()
	began := time.Now()
	for row := 0; row < 6; {
		err := tries(t, c)
		if row++; err == nil {
			continue
		}
		row = 0
		if time.Since(began) > hangs {
			t.Fatalf("calls still fail: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("calls succeed again after %s", time.Since(began).Round(time.Millisecond))
}

// statuses lists the tools in a session, at each replica, and returns how often each
// status was the answer. A response with status 503 must say when to try again.
func (w *world) statuses(t testing.TB, session string) map[int]int {
	t.Helper()
	got := map[int]int{}
	for _, r := range w.replicas {
		q, err := http.NewRequest(http.MethodPost, "http://"+r.addr+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}, "Mcp-Protocol-Version": {"2025-06-18"}}
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
			t.Error("the response does not say when to try again")
		}
		got[res.StatusCode]++
	}
	return got
}

// While Redis is away, calls of modern clients go on, those of older clients fail
// clearly, and all is well when Redis is back: with its data, sessions go on; without,
// clients open new ones by themselves.
func TestRedisAway(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 3, servers)
	modern, legacy := w.dial(t, mcp.Rev20260728, nil), w.dial(t, mcp.Rev20250618, nil)
	for _, way := range []struct {
		name       string
		away, back func()
		status     int // of a session afterwards
	}{
		{"stopped, back with its data", w.redis.Kill, w.redis.Restart, http.StatusOK},
		{"stopped, back without its data", w.redis.Kill, w.restartEmpty, http.StatusNotFound},
		{"hanging for longer than a lease", w.redis.Pause, func() { time.Sleep(11 * time.Second); w.redis.Resume() }, http.StatusOK},
	} {
		t.Run(way.name, func(t *testing.T) {
			recovers(t, modern)
			recovers(t, legacy)
			session := w.initialize(t)
			if got := w.statuses(t, session); got[http.StatusOK] != len(w.replicas) {
				t.Errorf("a session before that: %v", got)
			}
			way.away()
			for i := range 12 {
				if err := tries(t, modern); err != nil {
					t.Errorf("call %d of a modern client: %v", i, err)
				}
			}
			if got := w.statuses(t, session); got[http.StatusServiceUnavailable] != len(w.replicas) {
				t.Errorf("a session meanwhile: %v", got)
			}
			if err := tries(t, legacy); err == nil || !strings.Contains(err.Error(), "try again later") {
				t.Errorf("a call of an older client: %v", err)
			}
			way.back()
			recovers(t, legacy)
			if got := w.statuses(t, session); got[way.status] != len(w.replicas) {
				t.Errorf("a session after that: %v, want status %d", got, way.status)
			}
			w.replicas[0].members(t, len(w.replicas))
			for i := range 6 {
				if err := tries(t, modern); err != nil {
					t.Errorf("call %d of a modern client after that: %v", i, err)
				}
				if err := tries(t, legacy); err != nil {
					t.Errorf("call %d of an older client after that: %v", i, err)
				}
			}
		})
	}
}

// The replicas agree on members and keys; a rotation of the keys goes unnoticed.
func TestKeyRotation(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 3, servers)
	legacy := w.dial(t, mcp.Rev20250618, &client.Options{Elicit: accept})
	modern := w.dial(t, mcp.Rev20260728, &client.Options{Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		w.tenon(t, "gateway", "keys", "rotate") // while the state of the call is at the client
		return accept(ctx, e)
	}})
	before := w.replicas[0].status(t).Cluster
	if len(before.Members) != 3 {
		t.Errorf("there are %d members", len(before.Members))
	}
	if got := call(t, modern, "modern__order", map[string]any{"name": "rice"}); got != "100 g of rice" {
		t.Errorf("order: %s", got)
	}
	for i := range 6 {
		call(t, legacy, "modern__add", map[string]any{"a": i, "b": 1})
	}
	for _, r := range w.replicas {
		after := r.status(t).Cluster
		if len(after.Keys) != 2 || after.Keys[0].ID == before.Keys[0].ID {
			t.Errorf("%s: the keys are %v, before they were %v", r.name, after.Keys, before.Keys)
		}
	}
}

// Clients that open a session and never come back cost Redis nothing: the session
// is in its id. If they change something, Redis grows to its maxmemory and no further:
// changes are refused then, and everything else goes on.
func TestAbandonedSessions(t *testing.T) {
	const sessions, room = 10_000, 2 << 20
	_, _, servers := twoShops(t)
	w := start(t, 2, servers)
	older := w.dial(t, mcp.Rev20250618, nil)
	ids := make([]string, sessions)
	each := func(do func(i int)) { // a few at a time
		var all sync.WaitGroup
		for k := range 8 {
			all.Go(func() {
				for i := k; i < sessions && !t.Failed(); i += 8 {
					do(i)
				}
			})
		}
		all.Wait()
	}
	before := w.redisInfo(t, "memory", "used_memory")
	each(func(i int) { ids[i] = w.initialize(t) })
	after := w.redisInfo(t, "memory", "used_memory")
	t.Logf("Redis has %d bytes more for each session", (after-before)/sessions)
	if after-before > sessions*100 {
		t.Errorf("Redis grew from %d to %d bytes", before, after)
	}

	bound := after + room
	if got := w.redis.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(bound)); got != "+OK" {
		t.Fatal(got)
	}
	var changed, refused atomic.Int64
	each(func(i int) {
		status, _, text := post(t, w.nginx, "", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`, "Mcp-Session-Id", ids[i], "MCP-Protocol-Version", "2025-06-18")
		switch {
		case strings.Contains(text, `"result":{}`):
			changed.Add(1)
		case strings.Contains(text, `"error"`):
			refused.Add(1)
		default:
			t.Errorf("setLevel: %d %s", status, text)
		}
	})
	full := w.redisInfo(t, "memory", "used_memory")
	t.Logf("%d sessions were changed, %d not; Redis has %d bytes, of %d", changed.Load(), refused.Load(), full, bound)
	if changed.Load() == 0 || refused.Load() == 0 || full > bound+room/4 {
		t.Errorf("%d sessions were changed, %d not; Redis has %d bytes, of %d", changed.Load(), refused.Load(), full, bound)
	}
	newer := w.dial(t, mcp.Rev20260728, nil)
	for range 4 {
		call(t, newer, "modern__add", map[string]any{"a": 1, "b": 1})
		call(t, older, "modern__add", map[string]any{"a": 1, "b": 1})
	}
}

// A call of a modern client that asks nothing touches Redis not at all, and one of
// an older client once; the rest are leases that the replicas renew.
func TestCommandsPerCall(t *testing.T) {
	const calls = 1000
	_, _, servers := twoShops(t)
	w := start(t, 3, servers)
	for _, want := range []struct {
		rev     mcp.Revision
		atMost  int
		perCall string
	}{{mcp.Rev20260728, calls / 5, "0"}, {mcp.Rev20250618, calls + calls/5, "1"}} {
		c := w.dial(t, want.rev, nil)
		for range 6 {
			call(t, c, "modern__add", map[string]any{"a": 1, "b": 1})
		}
		before := w.redisInfo(t, "stats", "total_commands_processed")
		for i := range calls {
			call(t, c, "modern__add", map[string]any{"a": i, "b": 1})
		}
		n := w.redisInfo(t, "stats", "total_commands_processed") - before
		t.Logf("%s: %d commands for %d calls", want.rev, n, calls)
		if n > want.atMost {
			t.Errorf("%s: %d commands for %d calls, and there should be about %s for each", want.rev, n, calls, want.perCall)
		}
	}
}

// redisInfo returns a number of a section of Redis's INFO.
func (w *world) redisInfo(t testing.TB, section, name string) int {
	t.Helper()
	for line := range strings.Lines(w.redis.Do("INFO", section)) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key == name {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("Redis tells no %s", name)
	return 0
}

// restartEmpty starts Redis without its data.
func (w *world) restartEmpty() {
	os.RemoveAll(filepath.Join(w.redis.Dir, "appendonlydir"))
	w.redis.Restart()
}

// initialize opens a session of an older client, and returns its id.
func (w *world) initialize(t testing.TB) string {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"gone","version":"1"}}}`
	r, err := http.NewRequest(http.MethodPost, w.nginx, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	session := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || session == "" {
		t.Fatalf("initialize: %s", resp.Status)
	}
	return session
}

// tenon runs a command of tenon with the cluster's Redis.
func (w *world) tenon(t testing.TB, args ...string) string {
	path, err := binary()
	if err != nil {
		t.Error(err)
		return ""
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+w.dir, "TENON_REDIS="+w.redis.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("tenon %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
