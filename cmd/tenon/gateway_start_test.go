package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A gateway that cannot start says what to do, and has started no server.
func TestGatewayStartMistakes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	configured(t, dir, `{"mcpServers":{"a":{"command":"sh","args":["-c","echo >`+started+`; exec sleep 60"]}}}`)
	for _, test := range []struct {
		args string
		want []string
	}{
		{"--addr " + taken.Addr().String(), []string{"is in use", "tenon gateway status", "--addr"}},
		{"--addr 0.0.0.0:0", []string{"other machines can reach", "--auth-issuer URL", "a variable of the environment, named with --auth-token\n", "tenon gateway keys add NAME", "--addr 127.0.0.1:", "--public-url https://"}},
		{"--addr 127.0.0.1:0 -s a -s builtin:calcc", []string{`unknown builtin server "calcc"; did you mean "calc"?`}},
		{"--addr 127.0.0.1:0 -s a -s builtin:notes", []string{"builtin:notes", "vault"}},
		{"--addr 127.0.0.1:0 --public-url https://mcp.example.com/mcp", []string{"https://mcp.example.com/mcp", "require authorization", "--auth-issuer URL", "tenon gateway keys add NAME"}},
		{"--addr 127.0.0.1:0 --public-url mcp.example.com", []string{"--public-url must be a URL"}},
		{"--addr nowhere", []string{"--addr"}},
	} {
		code, _, errs := tenon(t, append([]string{"gateway", "--config-dir", dir, "--project", t.TempDir()}, strings.Fields(test.args)...)...)
		if code != exitUsage {
			t.Errorf("%s: exit code %d", test.args, code)
		}
		for _, want := range test.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: %s; want %q", test.args, errs, want)
			}
		}
	}
	if _, err := os.Stat(started); err == nil && runtime.GOOS != "windows" {
		t.Error("a server was started")
	}
}

// A configured builtin server that does not exist costs itself only.
func TestGatewayWithAnUnknownBuiltin(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"a":{"builtin":"calcc"},"b":{"builtin":"calc"}}}`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	if code, out, _ := tenon(t, "tools", url); code != 0 || !strings.Contains(out, "b__add") {
		t.Errorf("%d %s", code, out)
	}
	if text := errs.String(); !strings.Contains(text, "a server is left out") || !strings.Contains(text, "did you mean") {
		t.Errorf("it says %s", text)
	}
}

// The lines for hosts say where the key goes, and never what it is, unless it was
// created just now.
func TestGatewayShowsWhereTheKeyGoes(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}}}`)
	code, key, errs := tenon(t, "gateway", "keys", "add", "build", "--config-dir", dir)
	if key = strings.TrimSpace(key); code != 0 || !strings.HasPrefix(key, "tk_") || strings.Count(errs, "Bearer "+key) != 3 {
		t.Errorf("a new key: %d %s", code, errs)
	}
	url, said := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--public-url", "https://mcp.example.com/mcp")
	text := said.String()
	for _, want := range []string{
		`claude mcp add --transport http tenon https://mcp.example.com/mcp --header "Authorization: Bearer KEY"`,
		`{"mcpServers": {"tenon": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer KEY"}}}}`,
		`{"servers": {"tenon": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer KEY"}}}}`,
		"tenon gateway keys add NAME",
		"needs no token",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "tk_") {
		t.Errorf("it shows a key: %s", text)
	}
	for host, want := range map[string]int{"mcp.example.com": http.StatusOK, "127.0.0.1": http.StatusOK, "other.example.com": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host // as a proxy passes it on
		for _, header := range [][2]string{{"Authorization", "Bearer " + key}, {"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}} {
			r.Header.Set(header[0], header[1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %s: %s", host, resp.Status)
		}
	}
}

// A gateway whose only servers cannot be used does not say that there are none.
func TestGatewayWithoutAUsableServer(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"hub":{"url":"http://127.0.0.1:1/mcp","headers":{"Authorization":"Bearer ${HUB_TOKEN}"}}}}`)
	t.Setenv("HUB_TOKEN", "")
	if err := os.Unsetenv("HUB_TOKEN"); err != nil {
		t.Fatal(err)
	}
	code, _, errs := tenon(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	if code != exitUsage || !strings.Contains(errs, "no configured server can be used (hub)") || strings.Contains(errs, "no server is configured") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// What to do is whole, although it looks like a name with a secret.
	const advice = "set HUB_TOKEN, or write a default as in ${NAME:-default}"
	if !strings.Contains(errs, advice) {
		t.Errorf("the log has no %q: %s", advice, errs)
	}
	if _, _, errs := tenon(t, "tools", "hub", "--config-dir", dir, "--project", t.TempDir()); !strings.Contains(errs, advice) {
		t.Errorf("tenon tools says %s; want %q", errs, advice)
	}
}
