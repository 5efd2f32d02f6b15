package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// gatewayConfig returns a folder with a configuration that has the servers calc
// and my notes.
func gatewayConfig(t *testing.T, gateway string) string {
	t.Helper()
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers": {"calc": {"builtin": "calc"}, "my notes": {"builtin": "notes?vault=`+filepath.ToSlash(t.TempDir())+`"}}, "gateway": `+gateway+`}`)
	return dir
}

// TestGatewayNames renames and hides tools and serves a set at its own URL and on
// standard input and output.
func TestGatewayNames(t *testing.T) {
	dir := gatewayConfig(t, `{
		"tools": {"calc__add": {"name": "plus", "description": "Adds two numbers, renamed."}, "calc__divide": {"hidden": true}},
		"sets": {"sums": {"tools": ["plus", "calc__divide", "calc__sub*"]}, "notes": {"servers": ["my notes"]}}
	}`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--addr", "127.0.0.1:0")
	if !strings.Contains(errs.String(), url+"/sums") || !strings.Contains(errs.String(), url+"/notes") {
		t.Errorf("it does not say where the sets are: %s", errs)
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TENON_TEST_MAIN", "1")
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		code, out, errs := tenon(t, "tools", "--revision", revision, url)
		if code != 0 || !strings.Contains(out, "plus") || !strings.Contains(out, "renamed") || !strings.Contains(out, "my_notes__") || strings.Contains(out, "calc__add") || strings.Contains(out, "calc__divide") {
			t.Errorf("tools: %d %s %s", code, out, errs)
		}
		for _, line := range [][]string{{url + "/sums"}, {"--", me, "gateway", "--config-dir", dir, "--stdio", "--set", "sums"}} {
			code, out, errs := tenon(t, append([]string{"tools", "--revision", revision}, line...)...)
			if code != 0 || !strings.Contains(out, "plus") || !strings.Contains(out, "calc__subtract") || strings.Contains(out, "calc__mul") || strings.Contains(out, "notes") {
				t.Errorf("tools of a set: %d %s %s", code, out, errs)
			}
		}
	}
	if code, out, errs := tenon(t, "call", url+"/sums", "plus", "a=2", "b=3"); code != 0 || !strings.Contains(out, "5") {
		t.Errorf("call: %d %s %s", code, out, errs)
	}
	for _, hidden := range []string{"calc__add", "calc__divide", "calc__multiply"} {
		if code, out, _ := tenon(t, "call", url+"/sums", hidden, "a=4", "b=2"); code == 0 {
			t.Errorf("%s was called: %s", hidden, out)
		}
	}
	for _, unknown := range []string{"/other", "/sums/x", "/"} {
		resp, err := http.Post(url+unknown, "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", unknown, resp.Status)
		}
	}
}

// TestGatewayNamesReload changes names and sets while the gateway runs.
func TestGatewayNamesReload(t *testing.T) {
	dir := gatewayConfig(t, `{"tools": {"calc__add": {"name": "plus"}}, "sets": {"a": {"tools": ["plus"]}}}`)
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	works := func(at, tool string) bool {
		code, _, _ := tenon(t, "call", at, tool, "a=2", "b=3")
		return code == 0
	}
	if !works(url+"/a", "plus") || works(url+"/b", "plus") {
		t.Fatal("the set does not serve what it has")
	}
	configured(t, dir, `{"mcpServers": {"calc": {"builtin": "calc"}}, "gateway": {"tools": {"calc__add": {"name": "sum"}}, "sets": {"b": {"tools": ["sum"]}}}}`)
	eventually(t, func() bool { return works(url+"/b", "sum") })
	if works(url+"/a", "plus") || works(url, "plus") || !works(url, "sum") {
		t.Error("old names or sets are still there, or new ones are not")
	}
	configured(t, dir, `{"mcpServers": {"calc": {"builtin": "calc"}}, "gateway": {"tools": {"calc__add": {"name": "sum"}, "calc__subtract": {"name": "sum"}}}}`)
	eventually(t, func() bool { return strings.Contains(errs.String(), "which calc__add has already") })
	if !works(url+"/b", "sum") {
		t.Error("an invalid configuration has changed something")
	}
}

// TestGatewaySearch finds and calls tools through two others, also in a set.
func TestGatewaySearch(t *testing.T) {
	dir := gatewayConfig(t, `{"search": true, "sets": {"notes": {"servers": ["my notes"]}}}`)
	url, _ := servingWith(t, "gateway", "--config-dir", dir, "--addr", "127.0.0.1:0")
	flag, _ := servingWith(t, "gateway", "--addr", "127.0.0.1:0", "--search", "--names", "plain", "-s", "builtin:calc")
	for at, add := range map[string]string{url: "calc__add", flag: "add"} {
		if code, out, errs := tenon(t, "tools", at); code != 0 || !strings.Contains(out, "invoke") || !strings.Contains(out, "search") || strings.Contains(out, add) {
			t.Errorf("tools: %d %s %s", code, out, errs)
		}
		if code, out, errs := tenon(t, "call", at, "search", "query=sum of two numbers"); code != 0 || !strings.Contains(out, add) {
			t.Errorf("search: %d %s %s", code, out, errs)
		}
		if code, out, errs := tenon(t, "call", at, "invoke", "name="+add, `arguments={"a":2,"b":3}`); code != 0 || !strings.Contains(out, "5") {
			t.Errorf("invoke: %d %s %s", code, out, errs)
		}
	}
	if code, out, errs := tenon(t, "call", url+"/notes", "search", "query=sum of two numbers"); code != 0 || strings.Contains(out, "calc__add") {
		t.Errorf("search in a set: %d %s %s", code, out, errs)
	}
	if code, out, _ := tenon(t, "call", url+"/notes", "invoke", "name=calc__add", `arguments={"a":2,"b":3}`); code == 0 {
		t.Errorf("invoke outside a set: %s", out)
	}
}

// TestGatewaySetsNeedAuthorization asks for sets that exist and that do not, with a
// token and without.
func TestGatewaySetsNeedAuthorization(t *testing.T) {
	const token = "a-token-of-more-than-twenty-characters"
	t.Setenv("GATEWAY_TOKEN", token)
	url, _ := servingWith(t, "gateway", "--config-dir", gatewayConfig(t, `{"sets": {"a": {"servers": ["calc"]}}, "tools": {"cacl__add": {"hidden": true}}}`), "--addr", "127.0.0.1:0", "--auth-token", "GATEWAY_TOKEN")
	for _, c := range []struct {
		path, token string
		want        int
	}{{"/a", "", http.StatusUnauthorized}, {"/b", "", http.StatusUnauthorized}, {"/b", token, http.StatusNotFound}, {"/a", token, http.StatusBadRequest}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.path, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s with the token %q: %s", c.path, c.token, resp.Status)
		}
	}
}

// TestGatewayRulesSeeThroughNames denies a tool that is renamed, in a set and found
// by searching: rules know it by its server's name.
func TestGatewayRulesSeeThroughNames(t *testing.T) {
	for _, search := range []bool{false, true} {
		settings := fmt.Sprintf(`{"search": %v, "rules": [{"effect": "allow", "principal": "local"}, {"effect": "deny", "server": "notes", "tool": "delete_all"}],
			"tools": {"notes__delete_all": {"name": "tidy", "description": "tidies up"}, "notes__read": {"name": "look", "description": "looks at a note"}},
			"sets": {"one": {"tools": ["tidy", "look"]}}}`, search)
		g, _ := ruledGateway(t, settings, nil)
		for _, at := range []string{g.url, g.url + "/one"} {
			call := func(tool string) bool {
				args := []string{"call", at, tool}
				if search {
					args = []string{"call", at, "invoke", "name=" + tool}
				}
				code, _, _ := g.tenon(t, args...)
				return code == 0
			}
			before := g.calls.Load()
			if call("tidy") || call("notes__delete_all") || call("notes__read") || g.calls.Load() != before {
				t.Errorf("search %v at %s: a denied tool or an old name was called", search, at)
			}
			if !call("look") || g.calls.Load() != before+1 {
				t.Errorf("search %v at %s: an allowed tool was not called", search, at)
			}
			_, out, _ := g.tenon(t, "tools", at)
			if search {
				_, out, _ = g.tenon(t, "call", at, "search", "query=tidy up or look at a note")
			}
			if strings.Contains(out, "tidy") || !strings.Contains(out, "look") {
				t.Errorf("search %v at %s: found %s", search, at, out)
			}
		}
	}
}

// TestGatewayNamesUsage checks the errors at the start.
func TestGatewayNamesUsage(t *testing.T) {
	for _, c := range []struct{ gateway, line, want string }{
		{`{"tools": {"calc__add": {"name": "x"}, "calc__sub": {"name": "x"}}}`, "gateway --addr 127.0.0.1:0", `gateway.tools.calc__sub has the name "x", which calc__add has already`},
		{`{"tools": {"calc__add": {"name": "a b"}}}`, "gateway --addr 127.0.0.1:0", "gateway.tools.calc__add.name must have 1 to 64 letters"},
		{`{"tools": {"calc__add": {"name": "calc__sub"}, "calc__sub": {"title": "x"}}}`, "gateway --addr 127.0.0.1:0", `cannot be named "calc__sub"`},
		{`{"tools": {"calc__add": {"hiden": true}}}`, "gateway --addr 127.0.0.1:0", `did you mean "hidden"?`},
		{`{"sets": {"a/b": {}}}`, "gateway --addr 127.0.0.1:0", `a set cannot be named "a/b"`},
		{`{"sets": {"server-card": {}}}`, "gateway --addr 127.0.0.1:0", `a set cannot be named "server-card"`},
		{`{"sets": {"a": {"server": []}}}`, "gateway --addr 127.0.0.1:0", `did you mean "servers"?`},
		{`{}`, "gateway --stdio --set b", `no set is named "b": tenon.json has no sets`},
		{`{"sets": {"a": {}}}`, "gateway --stdio --set b", `no set is named "b" in tenon.json; there are: a`},
		{`{"sets": {"a": {}}}`, "gateway --addr 127.0.0.1:0 --set a", "--set needs --stdio"},
		{`{"sets": {"a": {}}}`, "gateway --addr 127.0.0.1:0 --names plain -s calc", "--names plain does not work with tools, prompts or sets"},
	} {
		if code, out, errs := tenon(t, append(strings.Fields(c.line), "--config-dir", gatewayConfig(t, c.gateway), "--project", t.TempDir())...); code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: %d %s %s; want %q", c.gateway, c.line, code, out, errs, c.want)
		}
	}
}

// subscribesWhen is a store whose subscriptions wait, and fail, until it is open.
type subscribesWhen struct {
	cluster.Store
	away   atomic.Bool
	began  chan struct{}
	resume chan struct{}
}

func (s *subscribesWhen) Subscribe(ctx context.Context, topic string, receive func([]byte), lost func()) (func(), error) {
	if s.away.Load() {
		s.began <- struct{}{}
		<-s.resume
		return nil, errors.New("dial tcp 10.0.0.5:6379: connection refused")
	}
	return s.Store.Subscribe(ctx, topic, receive, lost)
}

// TestSetsDoNotWaitForEachOther has a store that does not answer while a set is
// opened: other sets are served, and the client does not see the error of the store.
func TestSetsDoNotWaitForEachOther(t *testing.T) {
	store := &subscribesWhen{Store: cluster.NewMemory(), began: make(chan struct{}), resume: make(chan struct{})}
	r, err := cluster.Join(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	none := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })
	sets := &setHandlers{set: func(string) mcp.Handler { return none }, options: &streamable.Options{Cluster: r}, handlers: map[string]*setHandler{}}
	defer sets.Shutdown()
	mux := http.NewServeMux()
	mux.Handle("/mcp/{set}", sets)
	send := func(name string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		q := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp/"+name, strings.NewReader("{}"))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		mux.ServeHTTP(w, q)
		return w
	}
	const served = http.StatusBadRequest // the request of send is none
	if err := sets.open("a"); err != nil {
		t.Fatal(err)
	}
	store.away.Store(true)
	late := make(chan *httptest.ResponseRecorder)
	go func() { late <- send("b") }()
	<-store.began
	if w := send("a"); w.Code != served || sets.Sessions() != 0 {
		t.Errorf("a set that was opened before: %d %s", w.Code, w.Body)
	}
	close(store.resume)
	if w := <-late; w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "10.0.0.5") {
		t.Errorf("a set that cannot be opened: %d %s", w.Code, w.Body)
	}
	store.away.Store(false)
	if w := send("b"); w.Code != served {
		t.Errorf("when the store is back: %d %s", w.Code, w.Body)
	}
}

// TestSetsAreOpenedBeforeRequests opens the sets at the start and at a reload.
func TestSetsAreOpenedBeforeRequests(t *testing.T) {
	dir := t.TempDir()
	p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, flags: flags{userDir: dir, project: t.TempDir()}}
	g, err := newGatewayRun(p, &gatewayFlags{names: "server"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	apply := func(sets string) {
		configured(t, dir, `{"gateway":{"audit":{"off":true},"sets":{`+sets+`}},"mcpServers":{"calc":{"builtin":"calc"}}}`)
		if err := g.apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var opened []string
	apply(`"a":{"servers":["calc"]}`)
	g.serveSets(func(name string) error { opened = append(opened, name); return nil })
	apply(`"a":{"servers":["calc"]},"b":{"servers":["calc"]}`)
	if got := strings.Join(opened, " "); got != "a a b" {
		t.Errorf("opened %q", got)
	}
}
