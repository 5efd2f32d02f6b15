package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	w := newWorld(t).user(`{
		"$schema": "x",
		"model": "anthropic/some",
		"permissions": [
			{"effect": "allow", "server": "notes", "tool": "search_*"},
			{"effect": "deny", "tool": "delete_*"},
			{"effect": "allow", "server": "fs", "tool": "write", "args": {"path": "/home/me/work/*"}},
			{"effect": "ask", "server": "notes", "tool": "search_secrets"},
			{"effect": "deny", "server": "fs", "tool": "write", "args": {"path": "*.env"}}
		],
		"sensitive": [{"from": "mail", "to": "*"}],
		"trust": ["notes"],
		"audit": {"file": "/var/log/x", "optional": true},
		"toolSearch": 8000
	}`)
	s := w.load().Settings()
	if s.Model != "anthropic/some" || !reflect.DeepEqual(s.Trust, []string{"notes"}) || s.Audit != (Audit{"/var/log/x", true}) || s.ToolSearch != (ToolSearch{Tokens: 8000}) || len(s.Rules) != 5 || s.Rules[1].Line != 6 {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		server, tool, args string
		want               Effect
	}{
		{"notes", "search_notes", `{}`, Allow},
		{"notes", "search_secrets", ``, Ask},
		{"notes", "read", `{}`, Ask},
		{"notes", "delete_note", ``, Deny},
		{"fs", "write", `{"path": "/home/me/work/a"}`, Allow},
		{"fs", "write", ` {"path": "/home/me/work/a"}`, Allow},
		{"fs", "write", `{"path": "/home/me/work/../.ssh/id"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/..\\x"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/%2e%2e/.ssh/id"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/%2E./x"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work%2F..%2Fx"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/%252e%252e/x"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/%25252525252e"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/..%5cx"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/..;/x"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/100%/a%20b..c%zz"}`, Allow},
		{"fs", "write", `{"path": "/etc/passwd"}`, Ask},
		{"fs", "write", `{"path": "/home/me/work/.env"}`, Deny},
		{"fs", "write", `{"path": ["/home/me/work/a"]}`, Ask},
		{"fs", "write", `{}`, Ask},
		{"fs", "write", ``, Ask},
		{"fs", "write", `{"path": "/home/me/work/a", "path": "/etc/x"}`, Deny},
		{"other", "x", `{}`, Ask},
	} {
		got, rule := s.Decide(c.server, c.tool, []byte(c.args))
		if got != c.want || rule != nil && rule.Effect != got {
			t.Errorf("%s %s %s: %s by %+v, want %s", c.server, c.tool, c.args, got, rule, c.want)
		}
	}
	if !s.Hidden("any", "delete_all") || s.Hidden("fs", "write") {
		t.Error("hidden is what is denied whatever the arguments")
	}
	if !s.IsSensitive("mail", "web") || s.IsSensitive("web", "mail") || s.IsSensitive("mail", "mail") {
		t.Error("sensitive pairs")
	}
}

func TestBadSettings(t *testing.T) {
	for text, want := range map[string]string{
		`{"permissions": [{"tool": "x"}]}`:                    `permissions[0] must have an "effect"`,
		`{"permissions": [{"effect": "permit"}]}`:             `must have an "effect"`,
		`{"permissions": [{"effect": "allow", "tol": "x"}]}`:  `unknown member permissions[0].tol; did you mean "tool"?`,
		`{"sensitive": [{"form": "x"}]}`:                      `did you mean "from"?`,
		`{"audit": {"optionl": true}}`:                        `did you mean "optional"?`,
		`{"modle": "x"}`:                                      `did you mean "model"?`,
		`{"mcpservers": {}}`:                                  `did you mean "mcpServers"?`,
		`{"toolSearch": "often"}`:                             `toolSearch must be "auto", "always", "never" or a number of tokens, not "often"`,
		`{"toolSearch": -1}`:                                  `must be "auto", "always"`,
		`{"trust": "x"}`:                                      `trust must be a list`,
		`{"permissions": [{"effect": "allow", "args": "x"}]}`: `permissions[0].args must be an object`,
	} {
		w := newWorld(t).user(text)
		_, err := Load(&w.o)
		wantError(t, err, want)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*c", "abbc", true}, {"a*c", "ab", false}, {"*a*b", "xaxb", true},
		{"?", "ä", true}, {"??", "ä", false}, {"a**", "a", true}, {"[a]", "a", false}, {"[a]", "[a]", true}, {"*.go", "x/y.go", true}, {"a", "A", false},
	} {
		if got := Glob(c.pattern, c.text); got != c.want {
			t.Errorf("Glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
	// What would take for ever by trying everything.
	if Glob(strings.Repeat("a*", 50)+"b", strings.Repeat("a", 5000)) {
		t.Error("matched")
	}
}
