package config

import (
	"errors"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		target string
		rest   []string
		want   Server
	}{
		{"https://h.example/mcp", nil, Server{Name: "h.example", Kind: HTTP, URL: "https://h.example/mcp"}},
		{"HTTP://127.0.0.1:80/x", nil, Server{Name: "127.0.0.1:80", Kind: HTTP, URL: "http://127.0.0.1:80/x"}},
		{"sse+https://h/sse", nil, Server{Name: "h", Kind: SSE, URL: "https://h/sse"}},
		{"builtin:calc", nil, Server{Name: "calc", Kind: Builtin, Builtin: "calc"}},
		{"--", []string{"/bin/prog", "-v", "${X}"}, Server{Name: "prog", Kind: Stdio, Command: "/bin/prog", Args: []string{"-v", "${X}"}}},
		{"", []string{"prog"}, Server{Name: "prog", Kind: Stdio, Command: "prog"}},
		{"prog", []string{"x"}, Server{Name: "prog", Kind: Stdio, Command: "prog", Args: []string{"x"}}},
	} {
		got, err := Parse(c.target, c.rest)
		if err != nil || got.Name != c.want.Name || got.Kind != c.want.Kind || got.URL != c.want.URL || got.Builtin != c.want.Builtin || got.Command != c.want.Command || !slices.Equal(got.Args, c.want.Args) {
			t.Errorf("Parse(%q, %q) = %+v, %v", c.target, c.rest, got, err)
		}
	}
	s, err := Parse("builtin:fs?root=.&root=%2Ftmp", nil)
	if err != nil || s.Builtin != "fs" || !slices.Equal(s.Query["root"], []string{".", "/tmp"}) {
		t.Errorf("%+v %v", s, err)
	}
	if s, _ := Parse("https://u:geheim@h/", nil); !slices.Contains(s.Secrets, "geheim") || s.CommandLine() != "'https://u:[redacted]@h/'" {
		t.Errorf("%q %s", s.Secrets, s.CommandLine())
	}
	for _, name := range []string{"notes", "my-server", "日本"} {
		if _, err := Parse(name, nil); !errors.Is(err, ErrName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for target, want := range map[string]string{
		"":                   "no command after --",
		"--":                 "no command after --",
		"ws://h/":            "must start with http",
		"https://":           "has no host",
		"https://h/%zz":      "not a URL",
		"builtin:":           "needs the name of a server",
		"builtin:x?a=%zz":    "invalid options",
		"./server":           "put it after --",
		"npx -y x":           "without quotes",
		"localhost:8080/mcp": "start a URL with http://",
	} {
		_, err := Parse(target, nil)
		wantError(t, err, want)
		if errors.Is(err, ErrName) {
			t.Errorf("%q would be looked up", target)
		}
	}
}

func TestServerToEntry(t *testing.T) {
	w := newWorld(t)
	w.env["T"] = "x"
	for _, target := range []string{"https://h/x", "sse+http://h/", "builtin:fs?root=a%26b"} {
		s, err := Parse(target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Add(w.userFile(), "s", s.Entry()); err != nil {
			t.Fatal(err)
		}
		if got := w.server("s"); got.Kind != s.Kind || got.URL != s.URL || got.Query.Get("root") != s.Query.Get("root") {
			t.Errorf("%+v became %+v", s, got)
		}
		if err := Remove(w.userFile(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	w.user(`{"mcpServers": {"s": {"command": "${T}"}}}`)
	if e := w.server("s").Entry(); e.Command != "${T}" {
		t.Errorf("the variable is lost: %+v", e)
	}
}
