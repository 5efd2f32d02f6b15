package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// An inbox is an API that takes files.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// newInbox returns the API, and a file that wraps it.
func newInbox(t *testing.T) (*inbox, string) {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in.mu.Lock()
		in.seen = append(in.seen, r.URL.Path+" "+string(body))
		in.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(func() { in.CloseClientConnections(); in.Close() })
	file := filepath.Join(t.TempDir(), "inbox.yaml")
	text := `tenon: api/1
name: inbox
api: {base: "BASE", private: true}
tools:
  put:
    description: Puts a file into the inbox
    params: {file: {type: string, required: true}}
    files: {file: "{{ .file }}"}
    request: {method: POST, path: "/put", query: {name: "{{ $files.file.name }}"}, raw: {file: file}}
    output: {text: put}
`
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "BASE", in.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	return in, file
}

func (in *inbox) got() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	seen := in.seen
	in.seen = nil
	return seen
}

func rootURI(dir string) string {
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/")}).String()
}

func putter(t *testing.T, d mcp.Dialer, roots ...string) func(file string) string {
	t.Helper()
	o := &client.Options{}
	if roots != nil {
		//lint:ignore SA1019 tools find files there
		o.Roots = func(context.Context) ([]mcp.Root, error) {
			var list []mcp.Root
			for _, dir := range roots {
				list = append(list, mcp.Root{URI: rootURI(dir)})
			}
			return list, nil
		}
	}
	c, err := client.Dial(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func(file string) string {
		t.Helper()
		res, err := c.CallTool(t.Context(), "put", map[string]any{"file": file}, nil)
		if err != nil {
			return "PROTOCOL " + err.Error()
		}
		return res.Content.Text()
	}
}

// A server on standard input and output uploads files below the roots of its client
// if it may, in both eras; nothing outside of them, and nothing without the setting.
func TestServeUploadsFilesBelowTheRootsOfItsClient(t *testing.T) {
	near := t.TempDir()
	folder := filepath.Join(near, "project")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"project/report.txt": "tea", "secret.txt": "secret"} {
		if err := os.WriteFile(filepath.Join(near, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(filepath.Join(near, "secret.txt"), filepath.Join(folder, "link.txt")) // where there are links
	in, file := newInbox(t)
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25", "2024-11-05"} {
		at := func(options ...string) *stdio.Command {
			return &stdio.Command{Cmd: binary(t, append([]string{"serve", "api", "file=" + file}, options...)...), Era: era.DialOptions{Known: revision}}
		}
		put := putter(t, at("clientroots=1"), folder)
		for _, name := range []string{"report.txt", filepath.Join(folder, "report.txt"), rootURI(filepath.Join(folder, "report.txt"))} {
			if got, seen := put(name), in.got(); got != "put" || len(seen) != 1 || seen[0] != "/put tea" {
				t.Errorf("%s %s: %s, the API got %q", revision, name, got, seen)
			}
		}
		for _, name := range []string{filepath.Join(near, "secret.txt"), "../secret.txt", "link.txt", "/etc/passwd", folder} {
			if got, seen := put(name), in.got(); got == "put" || len(seen) > 0 {
				t.Errorf("%s %s: %s, the API got %q", revision, name, got, seen)
			}
		}
		if got := putter(t, at("clientroots=1"))("report.txt"); !strings.Contains(got, "it has no roots") || !strings.Contains(got, "files=DIR") {
			t.Errorf("%s without roots: %s", revision, got)
		}
		if got := putter(t, at(), folder)("report.txt"); !strings.Contains(got, "files=DIR") || !strings.Contains(got, "clientroots=1") {
			t.Errorf("%s without the setting: %s", revision, got)
		}
		if got := putter(t, at("files="+folder))("report.txt"); got != "put" {
			t.Errorf("%s with files: %s", revision, got)
		}
		in.got()
	}
}

// Over HTTP clients may be on other machines: their roots are not used.
func TestRootsOfRemoteClientsAreNotUsed(t *testing.T) {
	in, file := newInbox(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "report.txt"), []byte("tea"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := tenon(t, "serve", "api", "file="+file, "clientroots=1", "--http", "127.0.0.1:0"); code != exitUsage || !strings.Contains(errs, "clientroots=1 is for clients on this machine") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25"} {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		at := servingAt(t, "api", "file="+file, "--http", "127.0.0.1:0")
		put := putter(t, &streamclient.Endpoint{URL: at, HTTP: &http.Client{Transport: tr}, Era: era.DialOptions{Known: revision}}, folder)
		if got := put("report.txt"); !strings.Contains(got, "files=DIR") || len(in.got()) > 0 {
			t.Errorf("%s: %s", revision, got)
		}
	}
}

// In the host, the folder of the user is a root of builtin servers for APIs.
func TestRunUploadsFilesOfItsFolder(t *testing.T) {
	in, file := newInbox(t)
	model := scripted(t,
		`{"expect":{"role":"user"}}`, `{"call":{"name":"api__put","arguments":{"file":"report.txt"}}}`, `{"done":""}`,
		`{"expect":{"role":"tool","has":"put"}}`, `{"text":"done"}`, `{"done":""}`)
	for setting, want := range map[string]int{"": 1, "&clientroots=0": 0} {
		cmd := binary(t, "run", "put it", "-q", "--model", model, "-s", fmt.Sprintf("builtin:api?file=%s%s", file, setting), "--allow", "api")
		if err := os.WriteFile(filepath.Join(cmd.Dir, "report.txt"), []byte("of the folder"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, out, errs := output(t, cmd)
		seen := in.got()
		if len(seen) != want || want == 1 && seen[0] != "/put of the folder" {
			t.Errorf("%q: %s%s, the API got %q", setting, out, errs, seen)
		}
	}
}
