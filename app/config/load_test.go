package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNothingFoundIsEmpty(t *testing.T) {
	c := newWorld(t).load()
	if len(c.Names()) != 0 || len(c.Entries()) != 0 || len(c.Warnings()) != 0 {
		t.Errorf("found %v %v %v", c.Names(), c.Entries(), c.Warnings())
	}
	_, err := c.Server("x")
	wantError(t, err, `"x"`, "no servers are configured", "tenon.json", ".mcp.json")
}

func TestLoadEveryMember(t *testing.T) {
	w := newWorld(t).user(`{
		// what I use everywhere
		"mcpServers": {
			"run": {"command": "prog", "args": ["-p", 80, true], "env": {"A": "b", "N": 5, "GONE": null}, "cwd": "sub", "timeout": 1500},
			"net": {"type": "streamable-http", "url": "https://h.example/mcp", "headers": {"X-A": "b"}, "timeout": "2m",
				"oauth": {"clientId": "me", "clientSecret": "geheim", "scopes": "a b", "callbackPort": 8123, "issuer": "https://i.example"}},
			"old": {"type": "sse", "url": "http://127.0.0.1:1/sse", "disabled": true},
			"own": {"builtin": "fs?root=.&root=%2Ftmp&readonly=1", "enabled": false},
		},
	}`)
	c := w.load()
	if got := c.Names(); !slices.Equal(got, []string{"net", "old", "own", "run"}) {
		t.Fatalf("names %v", got)
	}
	run := w.server("run")
	if run.Kind != Stdio || run.Command != "prog" || !slices.Equal(run.Args, []string{"-p", "80", "true"}) ||
		!reflect.DeepEqual(run.Env, map[string]string{"A": "b", "N": "5"}) || run.Timeout != 1500*time.Millisecond || run.Dir != filepath.Join(w.o.Dir, "sub") {
		t.Errorf("run: %+v", run)
	}
	net := w.server("net")
	want := OAuth{ClientID: "me", ClientSecret: "geheim", Issuer: "https://i.example", Scopes: []string{"a", "b"}, RedirectURI: "http://localhost:8123/callback"}
	if net.Kind != HTTP || net.URL != "https://h.example/mcp" || net.Headers["X-A"] != "b" || net.Timeout != 2*time.Minute || !reflect.DeepEqual(*net.OAuth, want) {
		t.Errorf("net: %+v %+v", net, net.OAuth)
	}
	if old := w.server("old"); old.Kind != SSE || !old.Disabled {
		t.Errorf("old: %+v", old)
	}
	own := w.server("own")
	if own.Kind != Builtin || own.Builtin != "fs" || !slices.Equal(own.Query["root"], []string{".", "/tmp"}) || own.Query.Get("readonly") != "1" || !own.Disabled || own.Dir != w.o.Dir {
		t.Errorf("own: %+v", own)
	}
	if run.Source.File != w.userFile() || run.Source.Project || run.Source.Line != 4 {
		t.Errorf("source %+v", run.Source)
	}
}

func TestProjectFile(t *testing.T) {
	w := newWorld(t).project(`{"servers": {"a": {"command": "vscode"}, "b": {"command": "b"}}, "mcpServers": {"a": {"command": "first"}}, "permissions": []}`)
	w.user(`{"mcpServers": {"b": {"command": "mine"}}}`)
	if s := w.server("a"); s.Command != "first" || !s.Source.Project || s.Dir != w.o.Dir {
		t.Errorf("mcpServers comes first, in the project's folder: %+v", s)
	}
	if s := w.server("b"); s.Command != "mine" || s.Source.Project {
		t.Errorf("a project took the name of the person's own server: %+v", s)
	}
	c := w.load()
	if i := slices.IndexFunc(c.Entries(), func(e Entry) bool { return e.Shadowed != "" }); i < 0 || c.Entries()[i].Command != "b" || c.Entries()[i].Shadowed != w.userFile() {
		t.Errorf("entries %+v", c.Entries())
	}
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], `"permissions"`) {
		t.Errorf("warnings %q", w)
	}
}

// A file above the repository, or above a folder that is in none, came with
// nothing that is worked on here.
func TestProjectFolder(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"loose/in", "repo/.git", "repo/sub/deep", "repo/own"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(dir, want string) {
		t.Helper()
		if got := projectFolder(filepath.Join(root, dir)); got != filepath.Join(root, want) {
			t.Errorf("from %s: %s, want %s", dir, got, want)
		}
	}
	touch(".mcp.json")
	at("loose/in", "loose/in")
	at("repo/sub/deep", "repo/sub/deep")
	touch("repo/.mcp.json")
	at("repo/sub/deep", "repo")
	touch("repo/own/.mcp.json")
	at("repo/own", "repo/own")
}

func TestBrokenFiles(t *testing.T) {
	for _, c := range []struct {
		name, text string
		parts      []string
	}{
		{"syntax", "{\n  \"mcpServers\": {\n    \"a\": {\"command\" \"x\"}\n  }\n}", []string{"tenon.json:3:21:", "invalid JSON"}},
		{"name twice", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, []string{"tenon.json:1:"}},
		{"open comment", "{} /* x", []string{"tenon.json:1:4:"}},
		{"no object", "\n[1]", []string{"tenon.json:2:1:", "must be an object"}},
		{"servers no object", `{"mcpServers": []}`, []string{"tenon.json:1:16: mcpServers must be an object, not a list"}},
		{"unknown key", `{"permisions": []}`, []string{"tenon.json:1:2: unknown member permisions", `did you mean "permissions"?`}},
		{"input without id", `{"inputs": [{}]}`, []string{`inputs[0] must have an "id"`}},
		{"column in letters", `{"ä": 1, "mcpServers": 5}`, []string{":1:2:"}},
		{"element", `{"trust": ["a", {}]}`, []string{":1:17: trust[1] must be a string, not an object"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t).user(c.text)
			_, err := Load(&w.o)
			wantError(t, err, c.parts...)
		})
	}
}

// One bad entry is an error for itself alone.
func TestBadEntries(t *testing.T) {
	for _, c := range []struct{ name, entry, want string }{
		{"nothing", `{}`, "must have command"},
		{"misspelt", `{"comand": "x"}`, `did you mean "command" instead of "comand"?`},
		{"other host's word", `{"serverUrl": "https://x"}`, `use "url" instead of "serverUrl"`},
		{"two", `{"command": "x", "url": "https://x"}`, "only one of"},
		{"type", `{"type": "ws", "url": "wss://x"}`, `has unknown type "ws"`},
		{"type and command", `{"type": "http", "command": "x"}`, `must have "url"`},
		{"args", `{"command": "x", "args": "y"}`, ":3:33: mcpServers.bad.args must be a list, not a string"},
		{"env", `{"command": "x", "env": {"A": []}}`, "mcpServers.bad.env.A must be a string, not a list"},
		{"env name", `{"command": "x", "env": {"A=B": "c"}}`, `"A=B"`},
		{"no object", `"x"`, "must be an object, not a string"},
		{"timeout", `{"command": "x", "timeout": "soon"}`, "milliseconds"},
		{"port", `{"url": "https://x", "oauth": {"callbackPort": 70000}}`, "must be a port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t).user("{\"mcpServers\": {\n\"good\": {\"command\": \"x\"},\n\"bad\": " + c.entry + "}}")
			w.server("good")
			_, err := w.load().Server("bad")
			wantError(t, err, "tenon.json:3:", c.want)
		})
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "-x", "builtin:x", "https://x", "a\\u202eb", "a\\nb", " a", "pаypal", strings.Repeat("x", 129)} {
		w := newWorld(t).user(`{"mcpServers": {"` + name + `": {"command": "x"}}}`)
		if e := w.load().Entries(); len(e) != 1 || e[0].Err == nil {
			t.Errorf("name %q was taken: %+v", name, e)
		}
	}
	w := newWorld(t).user(`{"mcpServers": {"filesystem": {"command": "x"}, "github": {"command": "x"}, "日本": {"command": "x"}}}`)
	w.server("日本")
	_, err := w.load().Server("gihtub")
	wantError(t, err, `no server "gihtub"`, `did you mean "github"?`)
	_, err = w.load().Server("zzz")
	if strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a wild guess: %v", err)
	}
}

func TestMembersPassedOver(t *testing.T) {
	w := newWorld(t).user(`{"mcpServers": {"a": {"command": "~/x", "autoApprove": ["y"], "arg": ["z"], "x-note": 1}}}`)
	got := strings.Join(w.load().Entries()[0].Warnings, "\n")
	for _, want := range []string{`"autoApprove" is ignored: an entry cannot approve tools`, `unknown member "arg" is ignored; did you mean "args"?`, `unknown member "x-note"`, "is not expanded; use ${userHome}"} {
		if !strings.Contains(got, want) {
			t.Errorf("warnings %q lack %q", got, want)
		}
	}
}
