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

// While Redis is away, calls of modern clients go on, those of older clients fail
// at once and clearly, and all is well when Redis is back: with its data, sessions
// go on; without, clients open new ones by themselves.
func TestRedisAway(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 3, servers)
	modern, legacy := w.dial(t, mcp.Rev20260728, nil), w.dial(t, mcp.Rev20250618, nil)
	for _, way := range []struct {
		name       string
		away, back func()
	}{
		{"stopped, back with its data", w.redis.Kill, w.redis.Restart},
		{"stopped, back without its data", w.redis.Kill, w.restartEmpty},
		{"hanging", w.redis.Pause, w.redis.Resume},
	} {
		t.Run(way.name, func(t *testing.T) {
			recovers(t, modern)
			recovers(t, legacy)
			way.away()
			for i := range 12 {
				if err := tries(t, modern); err != nil {
					t.Errorf("call %d of a modern client: %v", i, err)
				}
			}
			var failed int
			var said error
			for range 6 {
				if err := tries(t, legacy); err != nil {
					failed, said = failed+1, err
				}
			}
			t.Logf("%d of 6 calls of an older client failed: %v", failed, said)
			way.back()
			recovers(t, legacy)
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
// is in its id.
func TestAbandonedSessions(t *testing.T) {
	const sessions = 2000
	_, _, servers := twoShops(t)
	w := start(t, 2, servers)
	w.initialize(t)
	before := w.redisInfo(t, "memory", "used_memory")
	for range sessions {
		w.initialize(t)
	}
	after := w.redisInfo(t, "memory", "used_memory")
	t.Logf("Redis has %d bytes more for each session", (after-before)/sessions)
	if after-before > sessions*100 {
		t.Errorf("Redis grew from %d to %d bytes", before, after)
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

// initialize opens a session of an older client and leaves it.
func (w *world) initialize(t testing.TB) {
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
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("initialize: %s", resp.Status)
	}
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
