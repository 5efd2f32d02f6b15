package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/mcp"
)

// get returns the status and the body of a page.
func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestGatewayFrom uses the servers of another program's configuration, without
// the entry that leads back to the gateway.
func TestGatewayFrom(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entries := fmt.Sprintf(`{"mcpServers":{"calc":{"command":%q,"args":["serve","calc"]},"tenon":{"command":"/usr/bin/tenon","args":["gateway","--stdio"]}}}`, me)
	for app, file := range map[string]string{"cursor": ".cursor/mcp.json", "claude": ".claude.json", "claude-code": ".claude.json"} {
		t.Run(app, func(t *testing.T) {
			file := filepath.Join(home, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(entries), 0o600); err != nil {
				t.Fatal(err)
			}
			url, errs := servingWith(t, "gateway", "--from", app, "--project", project, "--addr", "127.0.0.1:0")
			if code, out, e := tenon(t, "call", url, "calc__add", "a=2", "b=3"); code != 0 || !strings.Contains(out, "5") {
				t.Errorf("call: %d %s %s", code, out, e)
			}
			log := errs.String()
			for _, want := range []string{"Using the servers of " + file, "tenon is left out: it is this gateway",
				"claude mcp add --transport http tenon " + url, `{"mcpServers": {"tenon": {"url": "` + url + `"}}}`,
				`{"servers": {"tenon": {"type": "http", "url": "` + url + `"}}}`, `"args": ["gateway","--stdio","--from","` + app + `"`} {
				if !strings.Contains(log, want) {
					t.Errorf("it does not say %q: %s", want, log)
				}
			}
			if strings.Contains(log, "deprecated") {
				t.Errorf("it warns of what the gateway does itself: %s", log)
			}
		})
	}
	for line, want := range map[string]string{
		"gateway --from emacs":  "--from must be claude, claude-desktop",
		"gateway --from vscode": "none of its files exists",
	} {
		if code, _, errs := tenon(t, append(strings.Fields(line), "--project", project)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", line, code, errs)
		}
	}
}

// TestGatewayStatusOfUsers shows the connections of users, and what they do.
func TestGatewayStatusOfUsers(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc","connection":"user"}}}`)
	url, _ := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	status := func() gatewayServerStatus {
		code, out, errs := tenon(t, "gateway", "status", url, "--format", "json")
		var s gatewayStatus
		if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 || len(s.Servers) != 1 || s.Servers[0].Users == nil {
			t.Fatalf("%d %v: %s %s", code, err, out, errs)
		}
		return s.Servers[0]
	}
	if s := status(); s.State != "on demand" || s.Connections != 0 || *s.Users != 0 || s.Calls != 0 {
		t.Errorf("before a call: %+v", s)
	}
	for range 2 {
		if code, _, errs := tenon(t, "call", url, "calc__add", "a=2", "b=3"); code != 0 {
			t.Fatal(errs)
		}
	}
	if s := status(); s.State != "on demand" || s.Connections != 1 || *s.Users != 1 || s.Calls != 2 || s.Errors != 0 {
		t.Errorf("after two calls: %+v", s)
	}
	_, out, _ := tenon(t, "gateway", "status", url)
	if lines := strings.Split(out, "\n"); len(lines) < 4 || !strings.Contains(lines[2], "CONNECTIONS  USERS  CALLS  FAILED") || !slices.Equal(strings.Fields(lines[3])[6:], []string{"0", "1", "1", "2", "0"}) {
		t.Errorf("as text: %s", out)
	}
}

// TestGatewayStatus asks a gateway with a dead server what it does.
func TestGatewayStatus(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"dead":{"command":"/no/such/program"},"calc":{"builtin":"calc"}}}`)
	url, _ := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	at := strings.TrimSuffix(url, "/mcp")
	eventually(t, func() bool { code, _ := get(t, at+"/readyz", ""); return code == http.StatusOK })
	if _, body := get(t, at+"/readyz", ""); !strings.Contains(body, "ready\n") || !strings.Contains(body, "dead") || strings.Contains(body, "calc") {
		t.Errorf("readiness: %s", body)
	}
	if code, body := get(t, at+"/healthz", ""); code != http.StatusOK || body != "ok\n" {
		t.Errorf("health: %d %s", code, body)
	}
	if _, _, e := tenon(t, "tools", url); e != "" {
		t.Log(e)
	}
	code, out, _ := tenon(t, "gateway", "status", at, "--format", "json")
	var s gatewayStatus
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code != exitTool || s.State != "running" || len(s.Servers) != 2 || s.Servers[1].Name != "dead" || s.Servers[1].Why == "" {
		t.Errorf("status %d: %s", code, out)
	}
	if calc := s.Servers[0]; calc.State != "ready" || calc.Tools == nil || *calc.Tools == 0 || calc.Revision != mcp.Revisions()[0] {
		t.Errorf("calc: %s", out)
	}
	if len(s.Callers) != 1 || s.Callers[0].Client != "tenon" || s.Callers[0].Version == "" || s.Callers[0].Calls == 0 {
		t.Errorf("callers: %v", s.Callers)
	}
	if code, out, _ := tenon(t, "gateway", "status", url); code != exitTool || !strings.Contains(out, "calc") || !strings.Contains(out, "dead") {
		t.Errorf("as text: %d %s", code, out)
	}
	for _, path := range []string{"/status", "/metrics"} {
		if code, body := get(t, at+path, "evil.example"); code != http.StatusForbidden || !strings.Contains(body, `unknown host "evil.example"`) || !strings.Contains(body, "tenon gateway with --host") {
			t.Errorf("%s for another host: %d %s", path, code, body)
		}
	}
	if _, body := get(t, at+"/readyz", "evil.example"); strings.Contains(body, "dead") {
		t.Errorf("readiness for another host: %s", body)
	}
	free := freeport.ForTest(t)
	if code, _, errs := tenon(t, "gateway", "status", "http://"+free); code != exitConnection || !strings.Contains(errs, "no gateway answers at "+free) {
		t.Errorf("without a gateway: %d %s", code, errs)
	}
	// A second gateway at the same address says what is wrong.
	addr := strings.TrimPrefix(at, "http://")
	if code, _, errs := tenon(t, "gateway", "--addr", addr, "-s", "builtin:calc"); code != exitUsage || !strings.Contains(errs, addr+" is in use") || !strings.Contains(errs, "--addr") {
		t.Errorf("a second gateway: %d %s", code, errs)
	}
}

// TestGatewayHidesOperationsBehindAuthorization serves metrics and status only
// at --ops-addr if clients need a token: a client may not know all tools.
func TestGatewayHidesOperationsBehindAuthorization(t *testing.T) {
	t.Setenv("GATEWAY_TOKEN", "0123456789abcdef0123")
	url, errs := servingWith(t, "gateway", "--addr", "127.0.0.1:0", "--auth-token", "GATEWAY_TOKEN", "-s", "builtin:calc")
	at := strings.TrimSuffix(url, "/mcp")
	for path, want := range map[string]int{"/status": 404, "/metrics": 404, "/healthz": 200} {
		if code, body := get(t, at+path, ""); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if log := errs.String(); !strings.Contains(log, "Bearer ${env:GATEWAY_TOKEN}") || strings.Contains(log, "0123456789abcdef") {
		t.Errorf("what to paste: %s", log)
	}
	_, errs = servingWith(t, "gateway", "--addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--auth-token", "GATEWAY_TOKEN", "-s", "builtin:calc")
	_, ops, _ := strings.Cut(errs.String(), "Metrics and status are at ")
	ops, _, _ = strings.Cut(ops, "\n")
	eventually(t, func() bool {
		code, out, _ := tenon(t, "gateway", "status", ops)
		return code == 0 && strings.Contains(out, "calc")
	})
	for _, path := range []string{healthPath, readyPath, metricsPath} {
		if code, body := get(t, ops+path, ""); code != 200 {
			t.Errorf("%s at --ops-addr: %d %s", path, code, body)
		}
	}
	if code, _, errs := tenon(t, "gateway", "--addr", "127.0.0.1:0", "--ops-addr", "0.0.0.0:0", "-s", "builtin:calc"); code != exitUsage || !strings.Contains(errs, "require authorization") {
		t.Errorf("operations for everybody: %d %s", code, errs)
	}
}

func TestSince(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 10 * time.Second: "10s", time.Minute: "1m0s", 3 * time.Hour: "3h0m", 49*time.Hour + time.Minute: "2d1h"} {
		if got := since(time.Now().Add(-d)); got != want {
			t.Errorf("%v is written as %s", d, got)
		}
	}
}

// TestGatewayLogsJSON has one object for each line of standard error.
func TestGatewayLogsJSON(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GATEWAY_TOKEN", "canary-0123456789")
	configured(t, dir, `{"mcpServers":{"dead":{"command":"/no/such/program"},"secret":{"command":"/no/such/${GATEWAY_TOKEN}"},"broken":{"command":"${NO_SUCH_VARIABLE}"},"calc":{"builtin":"calc"}}}`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--log-format", "json")
	tenon(t, "tools", url)
	eventually(t, func() bool {
		return strings.Contains(errs.String(), "/no/such/program") && strings.Contains(errs.String(), `"server":"secret"`)
	})
	if strings.Contains(errs.String(), "canary") {
		t.Errorf("a secret is in the log: %s", errs)
	}
	for _, line := range strings.Split(strings.TrimSpace(errs.String()), "\n") {
		var event struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Msg == "" || event.Level == "" {
			t.Errorf("%v: %s", err, line)
		}
	}
	for _, flag := range []string{"--log-format=xml", "--log-level=loud"} {
		if code, _, errs := tenon(t, "gateway", flag, "-s", "builtin:calc"); code != exitUsage {
			t.Errorf("%s: %d %s", flag, code, errs)
		}
	}
}
