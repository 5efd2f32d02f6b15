package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/logtest"
	"github.com/tenon-mcp/tenon/mcp"
)

// A log is a buffer for concurrent use.
type logBuffer = logtest.Buffer

func slogTo(l *logBuffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(what)
}

// A changed file is in use without a restart; one with mistakes is not, and the
// log says so.
func TestHotReload(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reply(w, 200, `{"path":"`+r.URL.Path+`"}`) }))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "api.yaml")
	write := func(text string) {
		t.Helper()
		text = "tenon: api/1\nname: test\napi: {base: " + api.URL + ", private: true}\n" + text
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("tools:\n  one: {description: d, request: GET /one}\n  gone: {description: d, request: GET /gone}\nprompts: {p: {text: hi}}")
	var log logBuffer
	s, err := New(Config{File: file, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := client.New(s, nil)
	names := func() string {
		tools, err := client.All(c.Tools(t.Context()))
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, tool := range tools {
			out = append(out, tool.Name)
		}
		return strings.Join(out, " ")
	}
	open, changed := make(chan struct{}), make(chan struct{}, 10)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: []byte(`{"notifications":{"toolsListChanged":true}}`), OnNotification: func(n mcp.Notification) {
			switch n.Method {
			case mcp.NotificationSubscriptionsAcknowledged:
				close(open)
			case mcp.NotificationToolsListChanged:
				changed <- struct{}{}
			}
		}})
	}()
	defer func() { stop(); <-ended }()
	expect(t, "before", names(), "one gone")
	<-open
	write("tools:\n  one: {description: d, request: GET /new}\n  two: {description: d, request: GET /two}")
	eventually(t, "the new file is not in use", func() bool { return names() == "one two" })
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Error("no notification")
	}
	call := func(tool string) string {
		r, err := c.CallTool(t.Context(), tool, map[string]any{}, nil)
		if err != nil {
			return err.Error()
		}
		return r.Content.Text()
	}
	expect(t, "one", call("one"), `{"path":"/new"}`)
	expect(t, "gone", call("gone"), "…unknown tool")
	write("tools:\n  one: {description: d, request: GET /bad, nonsense: 1}")
	eventually(t, "the mistake was not reported", func() bool { return strings.Contains(log.String(), "the previous version stays in use") })
	expect(t, "log", log.String(), "…nonsense")
	expect(t, "after", names(), "one two")
	expect(t, "after", call("one"), `{"path":"/new"}`)
}

// A file that changed after it was loaded and before it was watched is loaded again,
// and so is one whose folder is replaced, as Kubernetes does with ConfigMaps.
func TestReloadNoticesEveryChange(t *testing.T) {
	text := func(tool string) []byte {
		return []byte("tenon: api/1\nname: test\napi: {base: 'https://api.example.com'}\ntools: {" + tool + ": {description: d, request: GET /x}}\n")
	}
	dir := t.TempDir()
	version := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, ".."+name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".."+name, "api.yaml"), text(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(".."+name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("one")
	file := filepath.Join(dir, "api.yaml")
	if err := os.Symlink(filepath.Join("..data", "api.yaml"), file); err != nil {
		t.Skip(err)
	}
	var log logBuffer
	version("two")
	s, err := start(Config{File: file, Log: slogTo(&log)}.withDefaults(), text("one"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	names := func() string {
		tools, err := client.All(client.New(s, nil).Tools(t.Context()))
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		return tools[0].Name
	}
	eventually(t, "a change before the file is watched is lost", func() bool { return names() == "two" })
	version("three")
	eventually(t, "the folder was replaced and the file is not loaded", func() bool { return names() == "three" })
}

// After a reload, exchanged tokens are those of the changed file, and resources and
// prompts use what changed elsewhere in it.
func TestExchangeAfterAReload(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			reply(w, 200, `{"access_token":"access-`+r.FormValue("client_id")+`","token_type":"Bearer"}`)
			return
		}
		reply(w, 200, `{"client":"`+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer access-")+`"}`)
	}))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "api.yaml")
	write := func(auth, ttl string) {
		t.Helper()
		text := "tenon: api/1\nname: test\napi: {base: " + api.URL + ", private: true, cache: {ttl: " + ttl + "}}\nauth: " + auth + "\ntools: {who: {description: d, request: GET /who}}\nresources: [{uri: \"test://who\", name: who, request: GET /who}]\n"
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	exchange := func(id string) string {
		return "{kind: oauth2, grant: exchange, token_url: " + api.URL + "/token, client_id: " + id + ", client_secret: \"${env:SECRET}\"}"
	}
	write("{kind: none}", "1h")
	c := Config{File: file}
	c.Resolver.Getenv = func(string) (string, bool) { return "marker-secret", true }
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := tokenContext(t, "the-token-of-ada")
	ada := &mcp.Principal{ID: "ada"}
	who := func() string { return said(decodeIn(t, ctx, s, toolCall("who", "{}", ada))) }
	expect(t, "without a credential", who(), `{"client":""}`)
	for _, id := range []string{"one", "two"} { // a cached answer of the version before is not used
		write(exchange(id), "1h")
		eventually(t, "the file is not in use: "+id, func() bool { return who() == `{"client":"`+id+`"}` })
	}
	write(exchange("two"), "1m")
	eventually(t, "the resource has the old cache", func() bool {
		res, err := s.Serve(ctx, &mcp.Call{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"test://who"}`), Caller: mcp.Caller{Principal: ada}})
		return err == nil && res.Cache.TTL == time.Minute && strings.Contains(string(res.Body), "two")
	})
}
