package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
)

// An entry that leads to the gateway itself is recognised however it is written.
func TestGatewayRecognisesItself(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	g := &gatewayRun{v: &gatewayFlags{serving: serving{listener: listener, public: "https://mcp.example.com/team/mcp", hosts: []string{"gate.lan"}}}}
	for url, want := range map[string]bool{
		"http://127.0.0.1:%d/mcp":               true,
		"http://localhost:%d/mcp":               true,
		"http://LocalHost.:%d/mcp/dev":          true,
		"http://gate.localhost:%d/mcp":          true,
		"http://[::1]:%d/mcp":                   true,
		"http://[::ffff:127.0.0.1]:%d/mcp":      true,
		"http://127.1.2.3:%d/sse":               true,
		"http://0.0.0.0:%d/mcp":                 true,
		"http://[::]:%d/mcp":                    true,
		"http://gate.lan:%d/mcp":                true,
		"https://MCP.example.com/team/mcp":      true,
		"https://mcp.example.com:443/team/mcp":  true,
		"https://mcp.example.com/team/mcp/dev":  true,
		"https://mcp.example.com/team/mcp2":     false,
		"https://mcp.example.com/other/mcp":     false,
		"https://mcp.example.com:8443/team/mcp": false,
		"http://localhost:9/mcp":                false,
		"http://example.com:%d/mcp":             false,
		"http://192.0.2.7:%d/mcp":               false,
	} {
		if strings.Contains(url, "%d") {
			url = fmt.Sprintf(url, port)
		}
		if got := g.isOwn(config.Server{Kind: config.HTTP, URL: url}); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
	everywhere, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer everywhere.Close()
	g.v.listener = everywhere
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]"} {
		if url := fmt.Sprintf("http://%s:%d/mcp", host, everywhere.Addr().(*net.TCPAddr).Port); !g.isOwn(config.Server{Kind: config.HTTP, URL: url}) {
			t.Errorf("%s at all addresses is not recognised", url)
		}
	}
}

// Gateways that are configured in a circle do not call each other without end: the
// entry that closes the circle fails, and says why. The other servers go on.
func TestGatewaysInACircle(t *testing.T) {
	for _, size := range []int{2, 3} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			first := t.TempDir()
			const own = `{"mcpServers":{"calc":{"builtin":"calc"}%s}}`
			configured(t, first, fmt.Sprintf(own, ""))
			start := func(dir string) (string, *told) {
				return servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
			}
			firstURL, _ := start(first)
			last := firstURL
			for range size - 1 {
				dir := t.TempDir()
				configured(t, dir, fmt.Sprintf(own, fmt.Sprintf(`,"next":{"url":%q}`, last)))
				last, _ = start(dir)
			}
			long := strings.Repeat("next__", size-1) + "calc__add"
			if code, out, errs := tenon(t, "call", last, long, "a=2", "b=3"); code != 0 || !strings.Contains(out, "5") {
				t.Fatalf("a chain of %d: %d %s %s", size, code, out, errs)
			}
			configured(t, first, fmt.Sprintf(own, fmt.Sprintf(`,"next":{"url":%q}`, last)))
			var status string
			eventually(t, func() bool {
				for _, url := range []string{firstURL, last} {
					_, out, _ := tenon(t, "gateway", "status", url)
					status += out
				}
				return strings.Contains(status, "form a circle")
			})
			for _, url := range []string{firstURL, last} {
				code, out, errs := tenon(t, "tools", url)
				if code != 0 || !strings.Contains(out, "calc__add") || strings.Contains(out, strings.Repeat("next__", size+1)) {
					t.Errorf("%s: %d %s %s", url, code, out, errs)
				}
				if code, out, errs := tenon(t, "call", url, "calc__add", "a=2", "b=3"); code != 0 || !strings.Contains(out, "5") {
					t.Errorf("%s: %d %s %s", url, code, out, errs)
				}
			}
		})
	}
}

// A gateway is before another one for as long as it calls: the circle can be opened
// without a restart.
func TestLoopGuardForgets(t *testing.T) {
	a, b, now := newLoopGuard(), newLoopGuard(), time.Now()
	if !b.record(splitIDs(a.header(now)[0]), now) || a.record(splitIDs(b.header(now)[0]), now) {
		t.Error("a request that comes back is not recognised, or one that does not is refused")
	}
	if later := now.Add(2 * beforeLife); !a.record(splitIDs(b.header(later)[0]), later) {
		t.Error("a gateway that does not call any more is still refused")
	}
	for range 2 * maxBefore {
		b.record([]string{newLoopGuard().id}, now)
	}
	if n := len(splitIDs(b.header(now)[0])); n > maxBefore+1 {
		t.Errorf("%d gateways are remembered", n)
	}
}
