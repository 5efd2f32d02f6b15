package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVariables(t *testing.T) {
	for _, c := range []struct{ name, text, want, err string }{
		{"none", "plain $5 {x} $x", "plain $5 {x} $x", ""},
		{"set", "a${SET}b", "avalueb", ""},
		{"env", "${env:SET}", "value", ""},
		{"env with odd name", "${env:ProgramFiles(x86)}", "prog", ""},
		{"env with default", "${env:UNSET:-d}", "d", ""},
		{"unset", "${UNSET}", "", "uses ${UNSET}, which is not set; set UNSET, or write a default as in ${NAME:-default}"},
		{"unset env", "${env:UNSET}", "", "which is not set"},
		{"set to nothing", "[${EMPTY}]", "[]", ""},
		{"default", "${UNSET:-fallback}", "fallback", ""},
		{"default for nothing", "${EMPTY:-fallback}", "fallback", ""},
		{"default not needed", "${SET:-${UNSET}}", "value", ""},
		{"default empty", "[${UNSET:-}]", "[]", ""},
		{"default in default", "${UNSET:-${ALSO:-${SET}}}!", "value!", ""},
		{"default with braces", "${UNSET:-{a}}", "{a}", ""},
		{"default with braces not needed", "${SET:-{a}}", "value", ""},
		{"literal in default", "${UNSET:-$${x}}", "${x}", ""},
		{"default unset", "${UNSET:-${ALSO}}", "", "uses ${ALSO}, which is not set"},
		{"value is not read again", "${TRICK}", "${SET}", ""},
		{"literal", "$${SET} $$ $", "${SET} $$ $", ""},
		{"dollar before value", "${UNSET:-$}${SET}", "$value", ""},
		{"folder", "${workspaceFolder}/x", "PROJECT/x", ""},
		{"base", "${workspaceFolderBasename}", "project", ""},
		{"home", "${userHome}", "HOME", ""},
		{"separator", "a${/}b${pathSeparator}c", "a" + string(filepath.Separator) + "b" + string(filepath.Separator) + "c", ""},
		{"open", "${SET", "", "has ${ without }"},
		{"empty", "${}", "", "has unknown variable ${}"},
		{"command", "${command:x}", "", "has unknown variable ${command:x}"},
		{"shell", "${SET#v}", "", "unknown variable"},
		{"no such input", "${input:nope}", "", "inputs has no such id"},
		{"too deep", strings.Repeat("${UNSET:-", 12) + "x" + strings.Repeat("}", 12), "", "more than 8 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.env = map[string]string{"SET": "value", "EMPTY": "", "TRICK": "${SET}", "ProgramFiles(x86)": "prog"}
			w.user(`{"mcpServers": {"s": {"command": "x", "args": ["` + c.text + `"]}}}`)
			s, err := w.load().Server("s")
			if c.err != "" {
				wantError(t, err, "tenon.json:1: server \"s\": args[0]", c.err)
				return
			}
			want := strings.NewReplacer("PROJECT", w.o.Dir, "HOME", w.o.Home).Replace(c.want)
			if err != nil || s.Args[0] != want {
				t.Errorf("got %q %v, want %q", s.Args, err, want)
			}
		})
	}
}

func TestVariablesInEveryField(t *testing.T) {
	w := newWorld(t)
	w.env = map[string]string{"V": "a&b?c d%"}
	w.user(`{"mcpServers": {
		"run": {"command": "/bin/${V}", "args": ["${V}"], "env": {"${V}": "${V}"}, "cwd": "/${V}"},
		"net": {"url": "https://h/${V}", "headers": {"X": "${V}"}, "oauth": {"clientId": "${V}", "clientSecret": "${V}", "scopes": ["${V}"]}},
		"own": {"builtin": "fs?root=${V}"}}}`)
	v := w.env["V"]
	run := w.server("run")
	if run.Command != "/bin/"+v || run.Args[0] != v || run.Env["${V}"] != v || run.Dir != "/"+v {
		t.Errorf("run %+v", run)
	}
	own := w.server("own")
	if own.Query.Get("root") != v {
		t.Errorf("own %+v", own)
	}
	w.env["V"] = "secret%zz"
	_, err := w.load().Server("net")
	wantError(t, err, "url is not a URL")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the value: %v", err)
	}
	w.env["V"] = "v"
	net := w.server("net")
	if net.URL != "https://h/v" || net.Headers["X"] != "v" || net.OAuth.ClientID != "v" || net.OAuth.ClientSecret != "v" || net.OAuth.Scopes[0] != "v" {
		t.Errorf("net %+v %+v", net, net.OAuth)
	}
}

// Everything that is missing is told at once.
func TestAllThatIsMissing(t *testing.T) {
	w := newWorld(t).project(`{"mcpServers": {
		"s": {"url": "https://${HOST}/", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}`)
	_, err := w.load().Server("s")
	wantError(t, err, ".mcp.json:2:", "url uses ${HOST}", "headers.Authorization uses ${TOKEN}")
}

func TestWhatComesOutIsChecked(t *testing.T) {
	for _, c := range []struct{ entry, value, want string }{
		{`{"url": "https://h/", "headers": {"X": "${V}"}}`, "token\n", "headers.X has a line break"},
		{`{"url": "https://h/", "headers": {"X Y": "${V}"}}`, "t", "invalid header name"},
		{`{"url": "${V}"}`, "ftp://x", "must start with http"},
		{`{"url": "${V}"}`, "https://", "has no host"},
		{`{"command": "${V}"}`, "", "command is empty"},
		{`{"command": "x", "args": ["${V}"]}`, "a\x00b", "zero byte"},
	} {
		w := newWorld(t)
		w.env["V"] = c.value
		w.user(`{"mcpServers": {"s": ` + c.entry + `}}`)
		_, err := w.load().Server("s")
		wantError(t, err, c.want)
	}
}

func TestInputs(t *testing.T) {
	w := newWorld(t).project(`{"inputs": [
		{"id": "api-token", "type": "promptString", "description": "Your token", "password": true},
		{"id": "level", "type": "pickString", "options": ["low", {"label": "High", "value": "high"}], "default": "low"}],
		"servers": {"s": {"command": "x", "env": {"T": "${input:api-token}", "L": "${input:level}"}}, "t": {"command": "x", "args": ["${input:api-token}"]}}}`)
	_, err := w.load().Server("s")
	wantError(t, err, "env.T uses ${input:api-token} (Your token), which cannot be entered here; set TENON_INPUT_API_TOKEN")

	w.env["TENON_INPUT_API_TOKEN"] = "from-env"
	if s := w.server("s"); s.Env["T"] != "from-env" || s.Env["L"] != "low" {
		t.Errorf("from the environment: %v", s.Env)
	}

	delete(w.env, "TENON_INPUT_API_TOKEN")
	var asked []Input
	w.o.Input = func(in Input) (string, error) {
		asked = append(asked, in)
		return map[string]string{"api-token": "typed", "level": "high"}[in.ID], nil
	}
	c := w.load()
	s, err := c.Server("s")
	if err != nil || s.Env["T"] != "typed" || s.Env["L"] != "high" || !slices.Contains(s.Secrets, "typed") {
		t.Errorf("typed: %+v %v", s, err)
	}
	if _, err := c.Server("t"); err != nil {
		t.Error(err)
	}
	if len(asked) != 2 || asked[1].ID != "api-token" || !asked[1].Password || asked[1].Server != "s" || !asked[1].Source.Project || !slices.Equal(asked[0].Options, []string{"low", "high"}) {
		t.Errorf("asked %+v", asked)
	}

	w.o.Input = func(Input) (string, error) { return "other", nil }
	_, err = w.load().Server("s")
	wantError(t, err, "must be one of low, high")
	no := errors.New("cancelled")
	w.o.Input = func(Input) (string, error) { return "", no }
	if _, err = w.load().Server("t"); !errors.Is(err, no) {
		t.Errorf("err %v", err)
	}
}

func TestEnvFile(t *testing.T) {
	w := newWorld(t).project(`{"servers": {"s": {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"B": "entry"}}}}`)
	_, err := w.load().Server("s")
	wantError(t, err, "envFile is not readable")
	w.write(filepath.Join(w.o.Dir, ".env"), "# comment\nA=one # two\r\nexport B=file\nC=\"x\\ny \\\"q\\\" # z\"\nD='${A} #'\nAPI_KEY=abcd1234\n\n")
	s := w.server("s")
	want := map[string]string{"A": "one", "B": "entry", "C": "x\ny \"q\" # z", "D": "${A} #", "API_KEY": "abcd1234"}
	for k, v := range want {
		if s.Env[k] != v {
			t.Errorf("%s = %q, want %q", k, s.Env[k], v)
		}
	}
	if line := s.CommandLine(); strings.Contains(line, "abcd1234") || !strings.Contains(line, "B=entry") || !strings.Contains(line, "API_KEY=(from ") {
		t.Errorf("command line %s", line)
	}
	w.write(filepath.Join(w.o.Dir, ".env"), "A=1\nnonsense\n")
	_, err = w.load().Server("s")
	wantError(t, err, ".env:2: must be NAME=value")
	w.write(filepath.Join(w.o.Dir, ".env"), "A=\"1\n")
	_, err = w.load().Server("s")
	wantError(t, err, ".env:1: unclosed quote")
}

func TestSecrets(t *testing.T) {
	w := newWorld(t)
	w.env = map[string]string{"GH": "ghp_0123456789abcdefghij", "MY_TOKEN": "tok-1", "HOME_DIR": "/home/me", "DEBUG": "true", "DB": "postgres://u:p%40ss@h/db"}
	w.user(`{"mcpServers": {
		"run": {"command": "x", "args": ["--api-key", "argkey", "--token=argtoken", "--root", "${HOME_DIR}", "${DB}"],
			"env": {"A": "${GH}", "B": "${MY_TOKEN}", "AUTH": "${DEBUG}", "SOME_SECRET": "literal", "MODE": "fast", "MONKEY": "banana"}},
		"net": {"url": "https://u:urlpass@h/x?api_key=querykey&page=next", "headers": {"Authorization": "Bearer headertoken", "X-Mode": "quick"}}}}`)
	run, net := w.server("run"), w.server("net")
	for _, v := range []string{w.env["GH"], "tok-1", "argkey", "argtoken", "literal", "p@ss", "p%40ss"} {
		if !slices.Contains(run.Secrets, v) {
			t.Errorf("%q is no secret in %q", v, run.Secrets)
		}
	}
	for _, v := range []string{"/home/me", "true", "fast", "banana", "--root"} {
		if slices.Contains(run.Secrets, v) {
			t.Errorf("%q is a secret", v)
		}
	}
	for _, v := range []string{"urlpass", "querykey", "headertoken", "Bearer headertoken"} {
		if !slices.Contains(net.Secrets, v) {
			t.Errorf("%q is no secret in %q", v, net.Secrets)
		}
	}
	if slices.Contains(net.Secrets, "next") || slices.Contains(net.Secrets, "quick") {
		t.Errorf("secrets %q", net.Secrets)
	}
	if got := net.Redact("sent Bearer headertoken and querykey"); got != "sent [redacted] and [redacted]" {
		t.Errorf("redacted %q", got)
	}
	if line := run.CommandLine(); strings.Contains(line, "ghp_") || strings.Contains(line, "argkey") || !strings.Contains(line, "/home/me") {
		t.Errorf("command line %s", line)
	}
}

// Text that a stranger wrote never makes the expander fail other than by an
// error, and text without ${ is left alone.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "$${A}", "${A:-${B:-c}}", "${input:x}", "${", "${}}", "${A:-{}}", "$$${A}$"} {
		f.Add(s)
	}
	c := &Config{o: Options{Home: "/h", Getenv: func(string) (string, bool) { return "${A}", true }}, project: "/p", answers: map[string]answer{}}
	f.Fuzz(func(t *testing.T, s string) {
		x := &expander{c: c}
		got, _, err := x.expand(s, 0)
		if !strings.Contains(s, "${") && (err != nil || got != s) {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	})
}
