package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGateway has clients use two servers as one, over HTTP and on standard
// input and output.
func TestGateway(t *testing.T) {
	vault := t.TempDir()
	url, errs := servingWith(t, "gateway", "--addr", "127.0.0.1:0", "-s", "builtin:calc", "-s", "builtin:notes?vault="+vault)
	if !strings.Contains(errs.String(), `"url": "`+url+`"`) {
		t.Errorf("it does not say what to put into the configuration of a client: %s", errs)
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TENON_TEST_MAIN", "1")
	for how, server := range map[string][]string{
		"HTTP":  {url},
		"stdio": {"--", me, "gateway", "--stdio", "-s", "builtin:calc", "-s", "builtin:notes?vault=" + vault},
	} {
		for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} {
			t.Run(how+" "+revision, func(t *testing.T) {
				line := func(words ...string) []string {
					all := append([]string{words[0], "--revision", revision}, words[1:]...)
					if how == "HTTP" {
						return append(all[:3:3], append(server, all[3:]...)...)
					}
					return append(all, server...)
				}
				code, out, errs := tenon(t, line("tools")...)
				if code != 0 || !strings.Contains(out, "calc__add") || !strings.Contains(out, "notes__") {
					t.Errorf("tools: %d %s %s", code, out, errs)
				}
				code, out, errs = tenon(t, line("call", "calc__add", "a=2", "b=3")...)
				if code != 0 || !strings.Contains(out, "5") {
					t.Errorf("call: %d %s %s", code, out, errs)
				}
			})
		}
	}
}

// TestGatewayPublishesACard describes the gateway to clients that look for it.
func TestGatewayPublishesACard(t *testing.T) {
	url, _ := servingWith(t, "gateway", "--addr", "127.0.0.1:0", "--card", "com.example/all", "-s", "builtin:calc")
	for _, at := range []string{url + "/server-card", strings.TrimSuffix(url, "/mcp") + "/.well-known/ai-catalog.json"} {
		resp, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), url) {
			t.Errorf("%s: %d %s %v", at, resp.StatusCode, body, err)
		}
	}
}

// TestGatewayPlainNames leaves the names of a single server as they are.
func TestGatewayPlainNames(t *testing.T) {
	url, _ := servingWith(t, "gateway", "--addr", "127.0.0.1:0", "--names", "plain", "-s", "builtin:calc")
	if code, out, errs := tenon(t, "call", url, "add", "a=2", "b=3"); code != 0 || !strings.Contains(out, "5") {
		t.Errorf("call: %d %s %s", code, out, errs)
	}
}

// TestGatewayWithADeadServer shows that a server that cannot be started costs
// its own tools only.
func TestGatewayWithADeadServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"dead":{"command":"/no/such/program"},"calc":{"builtin":"calc"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	url, errs := servingWith(t, "gateway", "-y", "--project", dir, "--addr", "127.0.0.1:0")
	code, out, _ := tenon(t, "call", url, "calc__add", "a=2", "b=3")
	if code != 0 || !strings.Contains(out, "5") {
		t.Errorf("call: %d %s", code, out)
	}
	if code, out, errs := tenon(t, "call", url, "dead__add"); code == 0 || !strings.Contains(out+errs, "dead") {
		t.Errorf("call of the dead server: %d %s %s", code, out, errs)
	}
	if !strings.Contains(errs.String(), "dead") {
		t.Errorf("standard error: %s", errs)
	}
}

func TestGatewayUsage(t *testing.T) {
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	for line, want := range map[string]string{
		"gateway --names other": "--names must be server or plain",
		"gateway --names plain -s builtin:calc -s builtin:notes?vault=x": "exactly one server",
		"gateway --project " + t.TempDir():                               "no server is configured",
		"gateway --addr 0.0.0.0:0 -s builtin:calc":                       "require authorization",
		"gateway extra":                                            "extra",
		"gateway --tasks x.db -s builtin:demo":                     "unknown flag: --tasks",
		"gateway --stdio --addr 127.0.0.1:0 -s builtin:calc":       "--stdio does not work with --addr",
		"gateway --stdio --card com.example/all -s builtin:calc":   "--stdio does not work with --card",
		"gateway --stdio --auth-token TOKEN -s builtin:calc":       "--stdio does not work with --auth-token",
		"gateway --stdio --tls-cert a --tls-key b -s builtin:calc": "--stdio does not work with --tls-cert",
	} {
		if code, _, errs := tenon(t, strings.Fields(line)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s; want %q", line, code, errs, want)
		}
	}
}
