package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// environment is a server program whose only act is to say on standard error
// what its variables A_MODE and B_MODE are.
func environment(t *testing.T) string {
	return script(t, t.TempDir(), "server", `echo "A_MODE=[$A_MODE] B_MODE=[$B_MODE]" >&2`+"\nexit 3\n")
}

// C4: a command that is typed gets the environment of the shell, and -e adds to
// it, on every command that takes a server; a configured server gets the short
// environment and what -e names.
func TestEnvironmentOfServers(t *testing.T) {
	program := environment(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tools", "--", program}, "A_MODE=[from the shell] B_MODE=[]"},
		{[]string{"tools", "-e", "B_MODE=x y", "--", program}, "A_MODE=[from the shell] B_MODE=[x y]"},
		{[]string{"tools", "-e", "A_MODE=mine", "--", program}, "A_MODE=[mine] B_MODE=[]"},
		{[]string{"doctor", "--once", "-e", "B_MODE=1", "--", program}, "A_MODE=[from the shell] B_MODE=[1]"},
		{[]string{"call", "x", "--", program}, "A_MODE=[from the shell] B_MODE=[]"},
		{[]string{"shell", "-e", "B_MODE=1", "--", program}, "B_MODE=[1]"},
		{[]string{"tools", "named"}, "A_MODE=[] B_MODE=[]"},
		{[]string{"tools", "named", "-e", "A_MODE", "-e", "B_MODE=2"}, "A_MODE=[from the shell] B_MODE=[2]"},
		{[]string{"run", "-p", "x", "--model", "none", "-s", "named", "-e", "A_MODE"}, "A_MODE=[from the shell] B_MODE=[]"},
		{[]string{"tools", "named", "-e", "NOT_SET"}, "the variable NOT_SET is not set"},
		{[]string{"tools", "builtin:calc", "-e", "A=1"}, "--env applies to servers that are programs"},
		{[]string{"version", "-e", "A=1"}, "--env has no effect"},
		{[]string{"version", "-H", "A: 1"}, "--header has no effect"},
		{[]string{"config", "list", "-H", "A: 1"}, "--header has no effect"},
		{[]string{"run", "-p", "x", "-H", "A: 1"}, "--header needs --server"},
		{[]string{"run", "-p", "x", "--model", "none", "-s", "builtin:calc", "-H", "A: 1"}, "no --server is one"},
	} {
		cmd := binary(t, c.args...)
		set(cmd, "A_MODE", "from the shell")
		config := filepath.Join(cmd.Dir, "config")
		if err := os.MkdirAll(config, 0o700); err != nil {
			t.Fatal(err)
		}
		entry, err := json.Marshal(program)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(config, "tenon.json"), `{"mcpServers":{"named":{"command":`+string(entry)+`}}}`)
		if code, out, errs := output(t, cmd); code == 0 || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: exit code %d, and not %q:\n%s%s", c.args, code, c.want, out, errs)
		}
	}
}

// C4: -e and -H reach the server of tenon inspect.
func TestInspectPassesEnvironmentAndHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "told")
	program := script(t, t.TempDir(), "server", `echo "$A_MODE $B_MODE" > `+file+".tmp; mv "+file+".tmp "+file+"\ncat > /dev/null\n")
	cmd := binary(t, "inspect", "--no-browser", "--model", "none", "-e", "B_MODE=2", "--", program)
	set(cmd, "A_MODE", "1")
	startPage(t, cmd)
	eventually(t, func() bool { text, _ := os.ReadFile(file); return string(text) == "1 2\n" })

	var mu sync.Mutex
	seen := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = r.Header.Get("X-Key")
		mu.Unlock()
		http.Error(w, "no", http.StatusNotFound)
	}))
	defer web.Close()
	startPage(t, binary(t, "inspect", "--no-browser", "--model", "none", "-H", "X-Key: k", web.URL))
	eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return seen == "k" })
}

// C4: -e and -H reach the server of every command that takes one.
func TestFlagsReachTheServerOfEveryCommand(t *testing.T) {
	dir := t.TempDir()
	recording := filepath.Join(dir, "r.txtar")
	if code, _, errs := output(t, binary(t, "record", "builtin:calc", "-o", recording, "--", "tools")); code != 0 {
		t.Fatal(errs)
	}
	file := filepath.Join(dir, "told")
	tells := func(name, file string) string {
		return script(t, dir, name, `echo "$A_KEY" > `+file+".tmp; mv "+file+".tmp "+file+"\nexit 3\n")
	}
	program := tells("server", file)
	var seen sync.Map
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("X-Key"), true)
		http.Error(w, "no", http.StatusNotFound)
	}))
	defer web.Close()
	for i, c := range []struct {
		args         []string
		before, page bool // the server stands after --; the command serves a page until it is ended
	}{
		{args: []string{"tools"}, before: true}, {args: []string{"call", "x"}, before: true}, {args: []string{"shell"}, before: true},
		{args: []string{"discover"}, before: true}, {args: []string{"doctor", "--once"}, before: true},
		{args: []string{"replay", recording}, before: true}, {args: []string{"record", "-o", filepath.Join(dir, "new.txtar")}},
		{args: []string{"chat", "--plain", "--model", "none", "-s"}}, {args: []string{"run", "hello", "--model", "none", "-s"}},
		{args: []string{"up", "--no-browser", "--model", "none", "-s"}, page: true}, {args: []string{"inspect", "--no-browser", "--model", "none"}, before: true, page: true},
	} {
		value := fmt.Sprint("value", i)
		try := func(flag []string, server ...string) {
			cmd := binary(t, append(append(append([]string{}, flag...), c.args...), server...)...)
			entry, err := json.Marshal(program)
			if err != nil {
				t.Fatal(err)
			}
			configure(t, cmd, `{"mcpServers":{"named":{"command":`+string(entry)+`}}}`)
			if c.page {
				startPage(t, cmd)
			} else if code, out, errs := output(t, cmd); strings.Contains(errs, "--env") || strings.Contains(errs, "--header") {
				t.Errorf("%q: exit code %d\n%s%s", cmd.Args[1:], code, out, errs)
			}
		}
		server := []string{"named"}
		if c.before {
			server = []string{"--", program}
		}
		try([]string{"-e", "A_KEY=" + value}, server...)
		eventually(t, func() bool { text, _ := os.ReadFile(file); return string(text) == value+"\n" })
		if c.args[0] == "replay" { // a recording is not played over HTTP
			continue
		}
		at := []string{web.URL}
		if c.args[0] == "call" { // the server stands before the tool
			c.args = []string{"call", web.URL, "x"}
			at = nil
		}
		try([]string{"-H", "X-Key: " + value}, at...)
		eventually(t, func() bool { _, ok := seen.Load(value); return ok })
	}
	file = filepath.Join(dir, "tapped") // the pages above start their server again and again
	program = tells("tapped-server", file)
	cmd := binary(t, "tap", "-e", "A_KEY=tapped", "--", program)
	if code, out, errs := output(t, cmd); code != 3 {
		t.Errorf("tap: exit code %d\n%s%s", code, out, errs)
	}
	if text, _ := os.ReadFile(file); string(text) != "tapped\n" {
		t.Errorf("tap: the server has %q", text)
	}
	if code, _, errs := output(t, binary(t, "tap", "-H", "X: y", "--", program)); code != exitUsage {
		t.Errorf("tap -H: exit code %d, %s", code, errs)
	}
}

// A server that refuses initialize for now is not asked in another revision than the
// one that was chosen: the error is the server's.
func TestRevisionWithAnUnavailableServer(t *testing.T) {
	var asked []string
	var mu sync.Mutex
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Method string }
		json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		asked = append(asked, m.Method)
		mu.Unlock()
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":503,"message":"the store does not answer; try again"}}`)
	}))
	defer busy.Close()
	code, _, errs := tenon(t, "tools", busy.URL, "--revision", "2025-06-18")
	mu.Lock()
	defer mu.Unlock()
	if code == 0 || !strings.Contains(errs, "503") || !strings.Contains(errs, "the store does not answer") {
		t.Errorf("%d %s", code, errs)
	}
	for _, method := range asked {
		if method != "initialize" {
			t.Errorf("it asks with %q: %v", method, asked)
		}
	}
}
