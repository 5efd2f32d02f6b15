package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAddKeepsTheRest(t *testing.T) {
	e := Entry{Command: "prog", Args: []string{"a", "b\tc"}, Env: map[string]string{"K": "v"}}
	const compact = `{"command": "prog", "args": ["a", "b\tc"], "env": {"K": "v"}}`
	for _, c := range []struct{ name, before, after string }{
		{"nothing", "", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"prog\",\n      \"args\": [\"a\", \"b\\tc\"],\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n"},
		{"empty object", "{}", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"prog\",\n      \"args\": [\"a\", \"b\\tc\"],\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}"},
		{"tabs, comments, order", "{\n\t// mine\n\t\"z\": 1,\n\t\"mcpServers\": {\n\t\t\"a\": {\"x\":1} // about a\n\t},\n\t\"b\": [ 1,2 ]\n}\n",
			"{\n\t// mine\n\t\"z\": 1,\n\t\"mcpServers\": {\n\t\t\"a\": {\"x\":1}, // about a\n\t\t\"new\": {\n\t\t\t\"command\": \"prog\",\n\t\t\t\"args\": [\"a\", \"b\\tc\"],\n\t\t\t\"env\": {\n\t\t\t\t\"K\": \"v\"\n\t\t\t}\n\t\t}\n\t},\n\t\"b\": [ 1,2 ]\n}\n"},
		{"comma at the end", "{\n \"servers\": {\n  \"a\": {}, /* , */\n },\n}", "{\n \"servers\": {\n  \"a\": {}, /* , */\n  \"new\": {\n   \"command\": \"prog\",\n   \"args\": [\"a\", \"b\\tc\"],\n   \"env\": {\n    \"K\": \"v\"\n   }\n  }\n },\n}"},
		{"one line", `{"mcpServers":{"a":{}},"z":1}`, "{\"mcpServers\":{\"a\":{},\n  \"new\": {\n    \"command\": \"prog\",\n    \"args\": [\"a\", \"b\\tc\"],\n    \"env\": {\n      \"K\": \"v\"\n    }\n  }\n},\"z\":1}"},
		{"Windows", "{\r\n  \"mcpServers\": {\r\n  }\r\n}\r\n", "{\r\n  \"mcpServers\": {\r\n    \"new\": {\r\n      \"command\": \"prog\",\r\n      \"args\": [\"a\", \"b\\tc\"],\r\n      \"env\": {\r\n        \"K\": \"v\"\r\n      }\r\n    }\r\n  }\r\n}\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.before != "" {
				w.user(c.before)
			}
			if err := Add(w.userFile(), "new", e); err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, w.userFile()); got != c.after {
				t.Errorf("got\n%s\nwant\n%s\n(the entry is %s)", got, c.after, compact)
			}
			err := Add(w.userFile(), "new", e)
			if !errors.Is(err, ErrExists) {
				t.Errorf("added twice: %v", err)
			}
			if err := Remove(w.userFile(), "new"); err != nil {
				t.Fatal(err)
			}
			if root, err := open(w.userFile()); err != nil {
				t.Errorf("spoiled: %v", err)
			} else if n, ok := root.member("mcpServers"); ok && strings.Contains(string(n.raw), "new") {
				t.Errorf("not removed: %s", n.raw)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"first", "{\"mcpServers\": {\n  \"x\": {\n  }, // of x\n  // of b\n  \"b\": {}\n}}", "{\"mcpServers\": {\n  // of b\n  \"b\": {}\n}}"},
		{"last", "{\"mcpServers\": {\n  \"b\": {}, // of b\n  \"x\": {}\n}}", "{\"mcpServers\": {\n  \"b\": {} // of b\n}}"},
		{"last with a comma", "{\"mcpServers\": {\n  \"b\": {},\n  \"x\": {},\n}}", "{\"mcpServers\": {\n  \"b\": {}\n}}"},
		{"only", "{\"mcpServers\": {\r\n  // none\r\n  \"x\": {}\r\n}}", "{\"mcpServers\": {\r\n  // none\r\n}}"},
		{"only with a comma", `{"mcpServers": {"x": {} , }}`, `{"mcpServers": {  }}`},
		{"one line, middle", `{"servers":{"a":{}, "x":{}, "b":{}}}`, `{"servers":{"a":{}, "b":{}}}`},
		{"one line, last", `{"servers":{"a":{}, "x":{}}}`, `{"servers":{"a":{} }}`},
		{"with its input", "{\n  \"inputs\": [\n    {\"id\": \"a\"}\n  ],\n  \"mcpServers\": {\"x\": {\"command\": \"${input:a}\"}}\n}", "{\n  \"mcpServers\": {}\n}"},
		{"with two of three inputs", `{"servers":{"x":{"command":"${input:a}","args":["${input:c}"]},"b":{"command":"${input:b}"}},"inputs":[{"id":"a"},{"id":"b"},{"id":"c"}]}`, `{"servers":{"b":{"command":"${input:b}"}},"inputs":[{"id":"b"}]}`},
		{"with an input of others", `{"servers":{"x":{"command":"${input:a}"},"b":{"command":"\u0024{input:a}"}},"inputs":[{"id":"a"},{"id":"unused"}]}`, `{"servers":{"b":{"command":"\u0024{input:a}"}},"inputs":[{"id":"a"},{"id":"unused"}]}`},
		{"with an input of something else", `{"servers":{"x":{"command":"${input:a}"}},"inputs":[{"id":"a"}],"other":"${input:a}"}`, `{"servers":{},"inputs":[{"id":"a"}],"other":"${input:a}"}`},
		{"in braces of a string", `{"servers":{"a":{"c":"},"}, "x":{}}}`, `{"servers":{"a":{"c":"},"} }}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t).project(c.before)
			if err := Remove(w.projectFile(), "x"); err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, w.projectFile()); got != c.after {
				t.Errorf("got\n%s\nwant\n%s", got, c.after)
			}
		})
	}
	w := newWorld(t).project(`{"mcpServers": {"github": {}}}`)
	wantError(t, Remove(w.projectFile(), "gitub"), `has no server "gitub"; did you mean "github"?`)
}

// What is written is what is read.
func TestAddThenLoad(t *testing.T) {
	for name, e := range map[string]Entry{
		"run": {Kind: Stdio, Command: `C:\x "y"`, Args: []string{"${A:-b}", "\u202e"}, Env: map[string]string{"A": "1"}, EnvFile: "e", Dir: "/d", Timeout: 90 * time.Second, Disabled: true},
		"net": {Kind: HTTP, URL: "https://h/", Headers: map[string]string{"X": "${T}"}, OAuth: &OAuth{ClientID: "c", ClientSecret: "s", Issuer: "https://i", Scopes: []string{"a", "b"}, Resource: "r", RedirectURI: "http://localhost:1/c", ClientIDMetadataURL: "https://m", Proxy: "environment"}},
		"old": {Kind: SSE, URL: "https://h/"},
		"own": {Kind: Builtin, Builtin: "fs?root=."},
		"ask": {Kind: Stdio, Command: "${input:a}", Args: []string{"${input:b}"}, Inputs: []Input{{ID: "a", Description: "A", Password: true}, {ID: "b", Options: []string{"x", "y"}, Default: "x"}}},
	} {
		w := newWorld(t).user(`{"inputs": [{"id": "b", "options": ["x", "y"], "default": "x"}]}`)
		if err := Add(w.userFile(), name, e); err != nil {
			t.Fatal(err)
		}
		got := w.load().Entries()[0]
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		got.Source, e.Name = Source{}, name
		for i := range got.Inputs {
			got.Inputs[i].Source, got.Inputs[i].Server = Source{}, ""
		}
		if name == "ask" { // b was there first
			got.Inputs[0], got.Inputs[1] = got.Inputs[1], got.Inputs[0]
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("got  %+v\nwant %+v\nin %s", got, e, readFile(t, w.userFile()))
		}
	}
}

func TestAddRefuses(t *testing.T) {
	w := newWorld(t).user("{")
	wantError(t, Add(w.userFile(), "a", Entry{Command: "x"}), "tenon.json:1:", "invalid JSON")
	if readFile(t, w.userFile()) != "{" {
		t.Error("a broken file was changed")
	}
	w = newWorld(t)
	wantError(t, Add(w.userFile(), "a\u202e", Entry{Command: "x"}), `\u{202e}`)
	wantError(t, Add(w.userFile(), "a", Entry{}), "must have command")
	if _, err := os.Stat(w.userFile()); err == nil {
		t.Error("a file was made for nothing")
	}
}

func TestFileModesAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are different there")
	}
	w := newWorld(t)
	if err := Add(w.userFile(), "a", Entry{Command: "x"}); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(w.userFile()); info.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %o", info.Mode())
	}
	real := filepath.Join(w.o.Home, "dotfiles", "mcp.json")
	w.write(real, "{}")
	if err := errors.Join(os.Chmod(real, 0o644), os.Symlink(real, w.projectFile())); err != nil {
		t.Fatal(err)
	}
	if err := Add(w.projectFile(), "a", Entry{Command: "x"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(w.projectFile())
	if err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if info, _ := os.Stat(real); info.Mode().Perm() != 0o644 || !strings.Contains(readFile(t, real), `"a"`) {
		t.Errorf("behind the link: %v %s", info.Mode(), readFile(t, real))
	}
	left, _ := filepath.Glob(filepath.Join(w.o.Home, "dotfiles", ".tenon*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAddAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := Add(w.userFile(), string(rune('a'+i)), Entry{Command: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(w.load().Names()); n != 20 {
		t.Errorf("%d of 20 servers are there", n)
	}
}

// Found by FuzzEdit: a server was added inside a comment of several lines, where nobody
// reads it.
func TestCommentsOfSeveralLinesStayWhole(t *testing.T) {
	for _, text := range []string{
		"{ /*\n*/ }", "{\n  \"a\": 1 /* x\r\ny */\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, /* one\n two */\n    \"b\": {\"command\": \"y\"} /*\n three */\n  }\n}\n",
		"{\"mcpServers\": {/*\n*/ \"a\": {\"command\": \"x\"} /*\n*/ , /*\n*/ \"b\": {\"command\": \"y\"} /*\n*/ , /*\n*/ }}",
	} {
		file := filepath.Join(t.TempDir(), "f.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Add(file, "new", Entry{Command: "z"}); err != nil {
			t.Errorf("add to %q: %v", text, err)
		}
		for _, name := range []string{"new", "a", "b"} {
			if name != "new" && !strings.Contains(text, `"mcpServers"`) {
				continue
			}
			before := readFile(t, file)
			if err := Remove(file, name); err != nil {
				t.Errorf("remove %s from %q: %v", name, before, err)
			}
		}
		after := readFile(t, file)
		if strings.Count(after, "/*") != strings.Count(after, "*/") || strings.Contains(after, "command") {
			t.Errorf("%q became %q", text, after)
		}
	}
}

// Whatever is in a file, what Add and Remove write can be read, and both
// together change nothing that is read.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{`{}`, "{\n\t\"mcpServers\": {\n\t\t\"a\": {}, // x\n\t},\n}", `{"servers":{"a":{},"b":{}},"inputs":[]}`, "\ufeff{ /* */ }\r\n", "// x\n", "", " ", "//", "\f"} {
		f.Add(s)
	}
	file := filepath.Join(f.TempDir(), "f.json")
	f.Fuzz(func(t *testing.T, text string) {
		before, err := read(file, []byte(text))
		if err != nil {
			return
		}
		was, err := readServers(before, Source{})
		if err != nil {
			return
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in := []Input{{ID: "new-input"}}
		if err := Add(file, "brand-new", Entry{Command: "${input:new-input}", Inputs: in}); err != nil {
			if errors.Is(err, ErrExists) {
				return
			}
			t.Fatalf("add to %q: %v", text, err)
		}
		added := readFile(t, file)
		if err := Remove(file, "brand-new"); err != nil {
			t.Fatalf("remove from %q: %v", added, err)
		}
		after, err := open(file)
		if err != nil {
			t.Fatalf("%q became %q: %v", added, readFile(t, file), err)
		}
		is, err := readServers(after, Source{})
		if err != nil || len(is) != len(was) {
			t.Fatalf("%q became %q became %q: %v", text, added, readFile(t, file), err)
		}
		for i := range is {
			if is[i].Name != was[i].Name || is[i].Command != was[i].Command {
				t.Fatalf("%+v became %+v", was[i], is[i])
			}
		}
	})
}
