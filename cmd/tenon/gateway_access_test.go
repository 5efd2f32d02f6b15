package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A ruled is a gateway before a server "notes" that counts its calls, and a
// builtin server "calc".
type ruled struct {
	dir, url string
	errs     *told
	notes    *server.Server
	calls    atomic.Int32 // of tools of notes
}

// ruledGateway starts a gateway with the member "gateway" of the configuration,
// and creates API keys: name and group.
func ruledGateway(t *testing.T, settings string, keys map[string]string) (g *ruled, secrets map[string]string) {
	t.Helper()
	g = &ruled{dir: t.TempDir()}
	g.notes = server.New(mcp.Implementation{Name: "notes", Version: "1"}, &server.Options{Instructions: "private notes"})
	for _, name := range []string{"read", "delete_all"} {
		g.addTool(name)
	}
	h, err := streamable.NewHandler(g.notes, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	config := fmt.Sprintf(`{"mcpServers":{"notes":{"type":"http","url":%q},"calc":{"builtin":"calc"}},"gateway":%s}`, web.URL, settings)
	if err := os.WriteFile(filepath.Join(g.dir, "tenon.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets = map[string]string{}
	for name, group := range keys {
		secrets[name] = g.addKey(t, name, group)
	}
	g.url, g.errs = servingIn(t, g.dir, "gateway", "--addr", "127.0.0.1:0", "--project", t.TempDir())
	return g, secrets
}

func (g *ruled) addTool(name string) {
	server.AddTool(g.notes, name, "a tool", func(context.Context, *mcp.Call, struct {
		Path     string `json:"path,omitempty"`
		Password string `json:"password,omitempty"`
	}) (string, error) {
		g.calls.Add(1)
		return "done", nil
	}, nil)
}

// tenon runs a command with the configuration of the gateway.
func (g *ruled) tenon(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("TENON_CONFIG_DIR", g.dir)
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func (g *ruled) addKey(t *testing.T, name, group string) string {
	t.Helper()
	code, out, errs := g.tenon(t, "gateway", "keys", "add", name, "--group", group)
	if code != 0 {
		t.Fatalf("add a key: %d %s", code, errs)
	}
	return strings.TrimSpace(out)
}

// connect connects to the gateway with an API key.
func (g *ruled) connect(t *testing.T, key string, revision mcp.Revision) mcp.Conn {
	t.Helper()
	e := &streamclient.Endpoint{URL: g.url, Era: era.DialOptions{Known: revision}, Header: http.Header{"Authorization": {"Bearer " + key}}}
	c, err := e.Dial(t.Context(), &mcp.ClientProfile{Client: mcp.Implementation{Name: "test", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// send sends a raw request and returns the status, the headers and the body.
func (g *ruled) send(t *testing.T, key, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, g.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// call sends a modern tools/call.
func (g *ruled) call(t *testing.T, key, tool, args string) (int, http.Header, string) {
	t.Helper()
	return g.send(t, key, modernCall(tool, args), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

func modernCall(tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, args)
}

// toolsOf returns the names of the tools that a client gets.
func toolsOf(t *testing.T, c mcp.Handler) string {
	t.Helper()
	res, err := c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for e := rawjson.Array(rawjson.Lookup(res.Body, "tools")); e.Next(); {
		name, _ := rawjson.String(rawjson.Lookup(e.Value, "name"))
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

const twoGroups = `{"rules":[
	{"effect":"allow","group":"dev"},
	{"effect":"allow","group":"guest","server":"notes","tool":"read"},
	{"effect":"allow","group":"guest","server":"notes","tool":"fresh_*"},
	{"effect":"deny","tool":"delete_*"},
	{"effect":"deny","tool":"fresh_dev","group":"guest"}]}`

// TestGatewayUsersWithDifferentRights shows two users different tools, in every
// era, and lets neither find out about others (G08).
func TestGatewayUsersWithDifferentRights(t *testing.T) {
	g, keys := ruledGateway(t, twoGroups, map[string]string{"ada": "dev", "bob": "guest"})
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25", "2024-11-05"} {
		t.Run(string(revision), func(t *testing.T) {
			ada, bob := g.connect(t, keys["ada"], revision), g.connect(t, keys["bob"], revision)
			if got := toolsOf(t, bob); got != "notes__read" {
				t.Errorf("bob sees %q", got)
			}
			if got := toolsOf(t, ada); !strings.Contains(got, "notes__read") || !strings.Contains(got, "calc__add") || strings.Contains(got, "delete") {
				t.Errorf("ada sees %q", got)
			}
			before := g.calls.Load()
			for _, c := range []struct {
				who     mcp.Handler
				tool    string
				allowed bool
			}{{ada, "notes__read", true}, {bob, "notes__read", true}, {ada, "notes__delete_all", false}, {bob, "notes__delete_all", false}, {bob, "calc__add", false}, {bob, "nowhere__at_all", false}} {
				_, err := c.who.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":{}}`, c.tool))})
				if c.allowed {
					if err != nil {
						t.Errorf("%s: %v", c.tool, err)
					}
					continue
				}
				e, ok := errors.AsType[*mcp.Error](err)
				if want := fmt.Sprintf("unknown tool %q", c.tool); !ok || e.Code != mcp.CodeInvalidParams || e.Message != want {
					t.Errorf("%s: %v, want %q", c.tool, err, want)
				}
			}
			if got := g.calls.Load() - before; got != 2 {
				t.Errorf("%d calls reached the server, want 2", got)
			}
		})
	}
	status := func(tool string) string {
		code, _, body := g.call(t, keys["bob"], tool, "{}")
		return fmt.Sprint(code, strings.ReplaceAll(body, tool, "TOOL"))
	}
	if denied, unknown := status("notes__delete_all"), status("notes2__no_tool"); denied != unknown {
		t.Errorf("a denied tool: %s\nan unknown tool: %s", denied, unknown)
	}
}

// TestGatewayChangesForUsersWithDifferentRights notifies two users of a change, who
// then see different tools.
func TestGatewayChangesForUsersWithDifferentRights(t *testing.T) {
	g, keys := ruledGateway(t, twoGroups, map[string]string{"ada": "dev", "bob": "guest"})
	changed := make(chan string, 100)
	all := map[string]mcp.Handler{}
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25"} {
		for name, key := range keys {
			c, who := g.connect(t, key, revision), name+" "+string(revision)
			all[who] = c
			toolsOf(t, c)
			ready := make(chan struct{})
			go c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), OnNotification: func(n mcp.Notification) {
				switch n.Method {
				case mcp.NotificationSubscriptionsAcknowledged:
					close(ready)
				case mcp.NotificationToolsListChanged:
					changed <- who
				}
			}})
			<-ready
		}
	}
	g.addTool("fresh_dev")
	g.addTool("fresh_all")
	notified := map[string]bool{}
	for deadline := time.After(time.Minute); len(notified) < len(all); {
		select {
		case who := <-changed:
			notified[who] = true
		case <-deadline:
			t.Fatalf("only %v were notified of the change", notified)
		}
	}
	for who, c := range all {
		want := "notes__read notes__fresh_all"
		for deadline := time.Now().Add(time.Minute); ; { // the gateway may still read the list
			got := toolsOf(t, c)
			if strings.HasPrefix(who, "bob") && got == want || strings.HasPrefix(who, "ada") && strings.Contains(got, "notes__fresh_dev") && strings.Contains(got, "notes__fresh_all") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s sees %q", who, got)
			}
		}
	}
}

// TestGatewayHeadersDecideNothing sends headers that name another tool than the
// body (G02, G04): the server sees nothing of it.
func TestGatewayHeadersDecideNothing(t *testing.T) {
	g, keys := ruledGateway(t, twoGroups, map[string]string{"bob": "guest"})
	if code, _, body := g.call(t, keys["bob"], "notes__read", "{}"); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	before := g.calls.Load()
	// G02
	code, _, body := g.send(t, keys["bob"], modernCall("notes__delete_all", "{}"), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "notes__read")
	if code != 400 || !strings.Contains(body, "-32020") {
		t.Errorf("modern: %d %s", code, body)
	}
	code, _, body = g.send(t, keys["bob"], modernCall("notes__delete_all", "{}"), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "prompts/get", "Mcp-Name", "notes__delete_all")
	if code != 400 || !strings.Contains(body, "-32020") {
		t.Errorf("modern, method: %d %s", code, body)
	}
	// G04
	_, h, _ := g.send(t, keys["bob"], `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	session := []string{"Mcp-Session-Id", h.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-06-18", "Mcp-Method", "tools/call", "Mcp-Name", "notes__read"}
	g.send(t, keys["bob"], `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session[:4]...)
	code, _, body = g.send(t, keys["bob"], `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__delete_all","arguments":{}}}`, session...)
	if !strings.Contains(body, `unknown tool`) {
		t.Errorf("legacy: %d %s", code, body)
	}
	code, _, body = g.send(t, keys["bob"], modernCall("notes__delete_all", "{}"), "MCP-Protocol-Version", "2025-06-18", "Mcp-Name", "notes__read")
	if code != 400 {
		t.Errorf("legacy header, modern body: %d %s", code, body)
	}
	if got := g.calls.Load() - before; got != 0 {
		t.Errorf("%d calls reached the server", got)
	}
}

// TestGatewayKeys manages keys while the gateway runs. No key is accepted while the
// file cannot be read (G22).
func TestGatewayKeys(t *testing.T) {
	g, keys := ruledGateway(t, `{}`, map[string]string{"ada": "dev"})
	file := filepath.Join(g.dir, "gateway-keys.json")
	try := func(key string) int { code, _, _ := g.call(t, key, "calc__add", `{"a":1,"b":2}`); return code }
	if got := []int{try(keys["ada"]), try(""), try(keys["ada"] + "x")}; fmt.Sprint(got) != "[200 401 401]" {
		t.Errorf("a key, none, a wrong one: %v", got)
	}
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, []byte(keys["ada"])) || !bytes.Contains(data, []byte("sha256:")) {
		t.Errorf("the file: %s %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file: %v %v", info.Mode(), err)
	}
	bob := g.addKey(t, "bob", "guest")
	if try(bob) != 200 {
		t.Error("a new key is refused")
	}
	if code, _, errs := g.tenon(t, "gateway", "keys", "add", "bob"); code != exitUsage || !strings.Contains(errs, "already") {
		t.Errorf("add bob again: %d %s", code, errs)
	}
	if code, out, errs := g.tenon(t, "gateway", "keys", "list"); code != 0 || !strings.Contains(out, "ada  groups dev") || !strings.Contains(out, "bob  groups guest") || strings.Contains(out, "sha256") {
		t.Errorf("list: %d %s %s", code, out, errs)
	}
	if code, _, errs := g.tenon(t, "gateway", "keys", "remove", "ada"); code != 0 {
		t.Errorf("remove: %d %s", code, errs)
	}
	if got := []int{try(keys["ada"]), try(bob)}; fmt.Sprint(got) != "[401 200]" {
		t.Errorf("after ada was removed: %v", got)
	}
	good, _ := os.ReadFile(file)
	for _, bad := range []string{"{", `{"keys":[{"name":"x","hash":"plain"}]}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, _ := g.call(t, bob, "calc__add", `{"a":1,"b":2}`); code != 200 {
			t.Errorf("with the file %s: %d", bad, code)
		}
		if code, _, errs := g.tenon(t, "gateway", "--addr", "127.0.0.1:0"); code != exitUsage || !strings.Contains(errs, file) {
			t.Errorf("a gateway starts with the file %s: %d %s", bad, code, errs)
		}
	}
	eventually(t, func() bool { return strings.Contains(g.errs.String(), "the keys of before stay in use") })
	os.WriteFile(file, good, 0o600)
	if try(bob) != 200 {
		t.Error("the key is refused after the file was repaired")
	}
	os.Remove(file)
	if got := try(bob); got != 503 {
		t.Errorf("without the file: %d", got)
	}
}

// TestGatewayLimits refuses calls beyond limits, in every era.
func TestGatewayLimits(t *testing.T) {
	g, keys := ruledGateway(t, `{"limits":[{"principal":"key:ada","tool":"read","rate":"2/h"},{"principal":"key:bob","server":"calc","rate":"1/h"}]}`, map[string]string{"ada": "dev", "bob": "dev"})
	for range 2 {
		if code, _, body := g.call(t, keys["ada"], "notes__read", "{}"); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	code, h, body := g.call(t, keys["ada"], "notes__read", "{}")
	if code != 429 || h.Get("Retry-After") != "1800" || !strings.Contains(body, `"code":429`) || !strings.Contains(body, `"retryAfter":1800`) || !strings.Contains(body, `"id":1`) {
		t.Errorf("modern: %d %v %s", code, h, body)
	}
	for _, c := range []struct{ who, tool string }{{"bob", "notes__read"}, {"ada", "notes__delete_all"}} {
		if code, _, body := g.call(t, keys[c.who], c.tool, "{}"); code != 200 {
			t.Errorf("%s %s: %d %s", c.who, c.tool, code, body)
		}
	}
	if got := g.calls.Load(); got != 4 {
		t.Errorf("%d calls reached the server, want 4", got)
	}
	_, h, _ = g.send(t, keys["bob"], `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	session := []string{"Mcp-Session-Id", h.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-06-18"}
	g.send(t, keys["bob"], `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	for i, want := range []int{200, 429} {
		code, h, body := g.send(t, keys["bob"], fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"calc__add","arguments":{"a":1,"b":2}}}`, i+1), session...)
		if code != want || want == 429 && (h.Get("Retry-After") != "3600" || !strings.Contains(body, `"code":429`) || !strings.Contains(body, `"retryAfter":3600`)) {
			t.Errorf("legacy, call %d: %d %v %s", i+1, code, h, body)
		}
	}
}

// A caller whom the rules deny a server neither spends its limit nor learns by it
// that the server is there.
func TestDeniedCallersSpendNoLimit(t *testing.T) {
	g, keys := ruledGateway(t, `{"rules":[{"effect":"allow","principal":"key:ada"}],"limits":[{"server":"notes","rate":"1/h","per":"all"}]}`, map[string]string{"ada": "dev", "bob": "dev"})
	there, _, first := g.call(t, keys["bob"], "notes__read", "{}")
	for range 3 {
		if code, _, body := g.call(t, keys["bob"], "notes__read", "{}"); code != there || body != first {
			t.Errorf("denied: %d %s, then %d %s", there, first, code, body)
		}
	}
	if code, _, body := g.call(t, keys["ada"], "notes__read", "{}"); code != 200 {
		t.Errorf("allowed: %d %s", code, body)
	}
	if code, _, _ := g.call(t, keys["ada"], "notes__read", "{}"); code != 429 {
		t.Errorf("the limit does not count: %d", code)
	}
}

// TestGatewayAudit records who did what, without secrets, and serves nothing while
// that fails.
func TestGatewayAudit(t *testing.T) {
	g, keys := ruledGateway(t, `{"audit":{"sync":true},"rules":[{"effect":"allow","tool":"read"}, {"effect":"allow","server":"calc"}]}`, map[string]string{"ada": "dev"})
	g.call(t, keys["ada"], "notes__read", `{"path":"x","password":"hunter2"}`)
	g.call(t, keys["ada"], "notes__delete_all", `{}`)
	g.call(t, keys["ada"], "calc__divide", `{"a":1,"b":0}`)
	file := filepath.Join(g.dir, "host", "gateway-audit.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	wants := []string{
		`"method":"tools/call","principal":"key:ada","issuer":"api-key","client":"raw 1","revision":"2026-07-28","server":"notes","kind":"tool","name":"read","effect":"allow","rule":{"effect":"allow","tool":"read"},"args":"sha256:`,
		`"name":"delete_all","effect":"deny","args":"sha256:`,
		`"server":"calc","kind":"tool","name":"divide","effect":"allow","rule":{"effect":"allow","server":"calc"}`,
	}
	for i, outcome := range []string{"ok", "denied", "tool_error"} {
		if len(lines) != len(wants) || !strings.Contains(lines[i], wants[i]) || !strings.Contains(lines[i], `"outcome":"`+outcome+`"`) {
			t.Fatalf("line %d of\n%s", i+1, data)
		}
	}
	for _, secret := range []string{"hunter2", keys["ada"]} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if code, out, errs := g.tenon(t, "audit", "verify", file); code != 0 || !strings.Contains(out, "intact: 3 lines") {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}

// readiness returns the status and the text of /readyz.
func (g *ruled) readiness(t *testing.T) string {
	t.Helper()
	code, body := get(t, strings.TrimSuffix(g.url, "/mcp")+"/readyz", "")
	return fmt.Sprint(code, " ", body)
}

// TestGatewayWithoutAuditLog refuses calls before they reach a server while the log
// cannot be written, is not ready meanwhile, and goes on by itself.
func TestGatewayWithoutAuditLog(t *testing.T) {
	for _, audit := range []string{`{"sync":true}`, `{}`, `{"optional":true}`} {
		optional := strings.Contains(audit, "optional")
		g, keys := ruledGateway(t, `{"audit":`+audit+`}`, map[string]string{"ada": "dev"})
		call := func() int {
			code, h, body := g.call(t, keys["ada"], "notes__read", `{}`)
			if code == 503 && (h.Get("Retry-After") == "" || !strings.Contains(body, "audit log") || !strings.Contains(body, `"code":503`)) {
				t.Errorf("%s: %v %s", audit, h, body)
			}
			return code
		}
		if code := call(); code != 200 {
			t.Fatalf("%s: %d", audit, code)
		}
		dir := filepath.Join(g.dir, "host")
		eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "gateway-audit.jsonl.head")); return err == nil })
		if err := os.Rename(dir, dir+".away"); err != nil { // as if the disk were gone
			t.Fatal(err)
		}
		if optional {
			for range 3 {
				if code := call(); code != 200 || g.readiness(t) != "200 ready\n" {
					t.Errorf("%s: %d, readiness %s", audit, code, g.readiness(t))
				}
			}
			continue
		}
		eventually(t, func() bool { return call() == 503 })
		if got := g.readiness(t); got != "503 the audit log cannot be written\n" {
			t.Errorf("%s: readiness %s", audit, got)
		}
		before := g.calls.Load()
		if code := call(); code != 503 || g.calls.Load() != before {
			t.Errorf("%s: %d, and a call that is not recorded reaches the server", audit, code)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return g.readiness(t) == "200 ready\n" })
		if code := call(); code != 200 {
			t.Errorf("%s: with the log again: %d", audit, code)
		}
		file := filepath.Join(dir, "gateway-audit.jsonl")
		if code, out, errs := g.tenon(t, "audit", "verify", file); code != 0 {
			t.Errorf("%s: verify: %d %s %s", audit, code, out, errs)
		}
	}
}

// TestGatewayRulesAreReloaded applies changed rules to the next calls, and keeps
// the counts of limits.
func TestGatewayRulesAreReloaded(t *testing.T) {
	const limits = `"limits":[{"tool":"read","rate":"1/h"}]`
	g, keys := ruledGateway(t, `{`+limits+`,"rules":[{"effect":"allow","server":"notes"}]}`, map[string]string{"ada": "dev"})
	if code, _, body := g.call(t, keys["ada"], "notes__read", "{}"); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	ada := g.connect(t, keys["ada"], "2026-07-28")
	if got := toolsOf(t, ada); got != "notes__read notes__delete_all" {
		t.Fatalf("before: %q", got)
	}
	file := filepath.Join(g.dir, "tenon.json")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(old), `{"effect":"allow","server":"notes"}`, `{"effect":"allow","server":"notes","tool":"read"}`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); toolsOf(t, ada) != "notes__read"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new rules are not applied")
		}
	}
	if code, _, body := g.call(t, keys["ada"], "notes__delete_all", "{}"); code != 400 || !strings.Contains(body, "unknown tool") {
		t.Errorf("a tool that is denied now: %d %s", code, body)
	}
	if code, _, body := g.call(t, keys["ada"], "notes__read", "{}"); code != 429 {
		t.Errorf("beyond the limit: %d %s", code, body)
	}
}

// TestGatewayAccessUsage explains mistakes in the configuration.
func TestGatewayAccessUsage(t *testing.T) {
	for settings, want := range map[string]string{
		`{"rules":[{"effect":"ask","tool":"x"}]}`:      "nobody to ask",
		`{"rules":[{"tool":"x"}]}`:                     `"allow" or "deny"`,
		`{"rules":[{"effect":"allow","group":""}]}`:    "must not be empty",
		`{"rules":[{"effect":"allow","grupe":"x"}]}`:   `did you mean "group"`,
		`{"limits":[{"tool":"x"}]}`:                    "rate",
		`{"limits":[{"rate":"fast"}]}`:                 "60/m",
		`{"limits":[{"rate":"5/m","per":"day"}]}`:      "principal",
		`{"limits":[{"rate":"5/m","args":{"a":"b"}}]}`: "arguments",
		`{"limits":[{"concurrency":0}]}`:               "1 to 1000000",
		`{"audit":{"arguments":"all"}}`:                "digest",
		`{"rule":[]}`:                                  `did you mean "rules"`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(`{"gateway":`+settings+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		g := &ruled{dir: dir}
		if code, _, errs := g.tenon(t, "gateway", "--addr", "127.0.0.1:0", "-s", "builtin:calc"); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s; want %q", settings, code, errs, want)
		}
	}
	g := &ruled{dir: t.TempDir()}
	for line, want := range map[string]string{
		"gateway keys add":                        "missing NAME",
		"gateway keys add a*":                     "the name of a key",
		"gateway keys add a --expires yesterday":  "--expires must be",
		"gateway keys add a --expires 2020-01-01": "--expires must be",
		"gateway keys remove nobody":              "there is no key",
	} {
		if code, _, errs := g.tenon(t, strings.Fields(line)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s; want %q", line, code, errs, want)
		}
	}
}

// TestGatewayLimitsOnStdio tells clients of both eras without HTTP when to try
// again.
func TestGatewayLimitsOnStdio(t *testing.T) {
	const modern = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	opening := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for name, c := range map[string]struct{ opening, meta string }{"modern": {"", modern}, "legacy": {opening, ""}} {
		dir := t.TempDir()
		configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}},"gateway":{"limits":[{"tool":"add","rate":"1/h"}]}}`)
		cmd := binary(t, "gateway", "--stdio", "--config-dir", dir, "--project", t.TempDir())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		io.WriteString(in, c.opening)
		var last string
		for id := 1; id <= 2; id++ {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"calc__add","arguments":{"a":1,"b":2}%s}}`+"\n", id, c.meta)
			for lines.Scan() {
				if last = lines.Text(); strings.Contains(last, fmt.Sprintf(`"id":%d`, id)) {
					break
				}
			}
			if limited := strings.Contains(last, `"error":{"code":429,"message":"too many calls: try again in 3600 s","data":{"retryAfter":3600}}`); limited != (id == 2) {
				t.Errorf("%s, call %d: %s", name, id, last)
			}
		}
		in.Close()
		cmd.Wait()
	}
}
