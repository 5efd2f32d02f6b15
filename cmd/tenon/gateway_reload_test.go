package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A gate is a server over HTTP with a tool that waits until the test lets it end.
type gate struct {
	url     string
	waiting atomic.Int32
	open    chan struct{}
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{open: make(chan struct{})}
	s := server.New(mcp.Implementation{Name: "gate", Version: "1"}, nil)
	server.AddTool(s, "pass", "Wait for the gate", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		g.waiting.Add(1)
		select {
		case <-g.open:
			return "passed", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(); web.Close(); s.Close() })
	g.url = web.URL
	return g
}

// configured writes tenon.json into a folder.
func configured(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "tenon.json")); err != nil {
		t.Fatal(err)
	}
}

// TestGatewayReloads changes the configuration while the gateway runs: servers
// are added, replaced and removed, and a broken file changes nothing.
func TestGatewayReloads(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"a":{"builtin":"calc"},"b":{"builtin":"calc"}}}`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	names := func() string {
		_, out, _ := tenon(t, "tools", url, "--format", "json")
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		found := map[string]bool{}
		var all []string
		for _, tool := range list.Tools {
			if s, _, _ := strings.Cut(tool.Name, "__"); !found[s] {
				found[s] = true
				all = append(all, s)
			}
		}
		return strings.Join(all, " ")
	}
	if got := names(); got != "a b" {
		t.Fatalf("servers %s", got)
	}
	configured(t, dir, `{"mcpServers":{"a":{"builtin":"calc"},"b":{"builtin":"demo"},"c":{"builtin":"calc"}}}`)
	eventually(t, func() bool { return names() == "a b c" })
	if _, out, _ := tenon(t, "tools", url); !strings.Contains(out, "b__slow_report") || strings.Contains(out, "b__add") {
		t.Errorf("the changed server was not replaced: %s", out)
	}
	configured(t, dir, `{"mcpServers":{`)
	eventually(t, func() bool { return strings.Contains(errs.String(), "the old one stays in use") })
	if got := names(); got != "a b c" {
		t.Errorf("after an invalid configuration there are the servers %s", got)
	}
	configured(t, dir, `{"mcpServers":{"c":{"builtin":"calc"},"d":{"command":"${NO_SUCH_VARIABLE}"}}}`)
	eventually(t, func() bool { return names() == "c" })
	if log := errs.String(); strings.Count(log, "the old one stays in use") != 1 || !strings.Contains(log, "NO_SUCH_VARIABLE") {
		t.Errorf("log: %s", log)
	}
	configured(t, dir, `{"mcpServers":{"c":{"command":"${NO_SUCH_VARIABLE}"}}}`)
	eventually(t, func() bool { return strings.Count(errs.String(), "the old one stays in use") == 2 })
	if got := names(); got != "c" {
		t.Errorf("after an invalid entry there are the servers %s", got)
	}
}

// Without its file the gateway would have no rules, and allow everything.
func TestGatewayKeepsRulesWhenTheirFileIsGone(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"gateway":{"audit":{"off":true},"rules":[{"effect":"allow","principal":"user:nobody"}]}}`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0", "-s", "builtin:calc")
	if err := os.Remove(filepath.Join(dir, "tenon.json")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return strings.Contains(errs.String(), "tenon.json is gone") })
	if _, out, _ := tenon(t, "tools", url, "--format", "json"); strings.Contains(out, "calc__") {
		t.Errorf("without the file everything is allowed: %s", out)
	}
	configured(t, dir, `{"gateway":{"audit":{"off":true}}}`)
	eventually(t, func() bool {
		_, out, _ := tenon(t, "tools", url, "--format", "json")
		return strings.Contains(out, "calc__add")
	})
}

// TestGatewayReloadsSettings changes rules, limits, renames and sets while the
// gateway runs. An invalid one changes nothing.
func TestGatewayReloadsSettings(t *testing.T) {
	dir := t.TempDir()
	settings := func(text string) {
		configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}},"gateway":{"audit":{"off":true},`+text+`}}`)
	}
	settings(`"rules":[{"effect":"allow","server":"calc"}]`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	add := func(tool string) (ok bool, text string) {
		code, out, e := tenon(t, "call", url, tool, "a=2", "b=3")
		return code == 0, out + e
	}
	if ok, text := add("calc__add"); !ok {
		t.Fatal(text)
	}
	settings(`"rules":[{"effect":"allow","server":"calc"},{"effect":"deny","tool":"add"}]`)
	eventually(t, func() bool { ok, _ := add("calc__add"); return !ok })
	settings(`"rules":[{"effect":"perhaps"}]`)
	eventually(t, func() bool { return strings.Contains(errs.String(), "the old one stays in use") })
	if ok, _ := add("calc__add"); ok {
		t.Error("an invalid configuration has removed the rules")
	}
	settings(`"tools":{"calc__add":{"name":"plus"}},"sets":{"math":{"servers":["calc"]}}`)
	eventually(t, func() bool { ok, _ := add("plus"); return ok })
	if code, out, e := tenon(t, "tools", url+"/math"); code != 0 || !strings.Contains(out, "plus") {
		t.Errorf("the new set: %d %s %s", code, out, e)
	}
	settings(`"limits":[{"tool":"add","rate":"1/h"}]`)
	eventually(t, func() bool { ok, text := add("calc__add"); return !ok && strings.Contains(text, "retryAfter") })
	if _, text := get(t, strings.TrimSuffix(url, "/mcp")+"/metrics", ""); !strings.Contains(text, `tool="add",outcome="limited"} `) {
		t.Errorf("refused calls are not counted:\n%s", text)
	}
}

// TestGatewayReloadNeedsApproval adds a program to a project's file while the
// gateway runs: it is not started, although the gateway was started with -y.
func TestGatewayReloadNeedsApproval(t *testing.T) {
	project, started := t.TempDir(), filepath.Join(t.TempDir(), "started")
	file := filepath.Join(project, ".mcp.json")
	evil := script(t, t.TempDir(), "evil", "touch "+started)
	write(t, file, `{"mcpServers":{"calc":{"builtin":"calc"}}}`)
	url, errs := servingWith(t, "gateway", "-y", "--project", project, "--addr", "127.0.0.1:0")
	write(t, file, `{"mcpServers":{"calc":{"builtin":"calc"},"evil":{"command":"`+evil+`"},"more":{"builtin":"demo"}}}`)
	eventually(t, func() bool { return strings.Contains(errs.String(), "the configuration is in use") })
	if _, err := os.Stat(started); err == nil || !strings.Contains(errs.String(), "is not approved") {
		t.Errorf("the program was started, or the log does not say why not: %s", errs)
	}
	if _, out, _ := tenon(t, "tools", url); !strings.Contains(out, "calc__") || strings.Contains(out, "more__") {
		t.Errorf("tools %s", out)
	}
}

// TestGatewayReloadDropsNoCall (G24) replaces one server and removes another
// while there are 1,000 open streams and calls in flight.
func TestGatewayReloadDropsNoCall(t *testing.T) {
	const streams, calls = 1000, 50
	gone, stays := newGate(t), newGate(t)
	dir := t.TempDir()
	servers := func(text string, args ...any) { configured(t, dir, fmt.Sprintf(`{"mcpServers":{`+text+`}}`, args...)) }
	servers(`"gone":{"url":%q},"stays":{"url":%q},"changed":{"builtin":"calc"}`, gone.url, stays.url)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--log-level", "debug")
	conn, err := (&streamclient.Endpoint{URL: url}).Dial(t.Context(), (&client.Options{}).Profile())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var acknowledged, changed, broken atomic.Int32
	var listening, calling sync.WaitGroup
	for range streams {
		listening.Go(func() {
			var once sync.Once
			_, err := conn.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`),
				OnNotification: func(n mcp.Notification) {
					switch n.Method {
					case mcp.NotificationSubscriptionsAcknowledged:
						acknowledged.Add(1)
					case mcp.NotificationToolsListChanged:
						once.Do(func() { changed.Add(1) })
					}
				}})
			if ctx.Err() == nil {
				broken.Add(1)
				t.Errorf("a stream ended: %v", err)
			}
		})
	}
	defer listening.Wait()
	defer cancel()
	eventually(t, func() bool { return acknowledged.Load() == streams })
	for _, name := range []string{"gone__pass", "stays__pass"} {
		for range calls {
			calling.Go(func() {
				if _, err := conn.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + name + `","arguments":{}}`)}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	eventually(t, func() bool { return gone.waiting.Load() == calls && stays.waiting.Load() == calls })
	changed.Store(0)
	servers(`"stays":{"url":%q},"changed":{"builtin":"demo"},"added":{"builtin":"calc"}`, stays.url)
	eventually(t, func() bool { return strings.Contains(errs.String(), "the configuration is in use") })
	eventually(t, func() bool { return changed.Load() == streams })
	if code, out, e := tenon(t, "call", url, "added__add", "a=2", "b=3"); code != 0 || !strings.Contains(out, "5") {
		t.Errorf("a call of the new server: %d %s %s", code, out, e)
	}
	if code, _, e := tenon(t, "call", url, "gone__pass"); code == 0 || !strings.Contains(e, "no tool") {
		t.Errorf("a call of the removed server: %d %s", code, e)
	}
	closed := func() bool { return strings.Contains(errs.String(), `msg="a server was closed" server=gone`) }
	if closed() {
		t.Error("the removed server was closed during its calls")
	}
	close(gone.open)
	close(stays.open)
	calling.Wait()
	eventually(t, closed)
	if broken.Load() > 0 {
		t.Errorf("%d of %d streams ended", broken.Load(), streams)
	}
}
