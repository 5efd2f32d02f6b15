package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

const uploadFile = `
auth: {kind: bearer, token: "${env:TOKEN}"}
tools:
  send:
    description: send
    params: {file: string, note: string}
    files: {doc: "{{ .file }}"}
    request:
      method: POST
      path: /files
      multipart: {note: "{{ .note }}", doc: {file: doc}}
  sign:
    description: sign
    params: {file: {type: string, required: true}}
    files: {doc: {from: "{{ .file }}", max: 1KiB}}
    confirm: {message: "Send {{ $files.doc.name }} ({{ $files.doc.size }} bytes, {{ $files.doc.type }})?"}
    request: {method: POST, path: /start, form: {length: "{{ $files.doc.size }}", name: "{{ $files.doc.name }}"}}
    then: [{request: {method: PUT, path: /content, raw: {file: doc}}}]
  several:
    description: several
    params: {files: {type: array, items: {type: string}}}
    files: {docs: "{{ .files }}"}
    request: {method: POST, path: /files, multipart: {doc: {file: docs}}}
    output: {jq: "[$files.docs[].name]"}
  one:
    description: one
    params: {files: {type: array, items: {type: string}}}
    files: {docs: "{{ .files }}"}
    request: {method: POST, path: /raw, raw: {file: docs}}
  each:
    description: each
    params: {files: {type: array, items: {type: string}}}
    batch: {over: files, as: file}
    files: {doc: "{{ .file }}"}
    request: {method: POST, path: /raw, raw: {file: doc, type: text/plain}}
  path:
    description: path
    params: {file: string}
    request: {method: POST, path: /files, multipart: {doc: {path: "{{ .file }}"}}}
  export:
    description: export
    request: GET /export
    output: {as: file}
resources:
  - {uri: "test://notes/{id}.md", name: note, mime: text/markdown, request: "GET /notes/{id}", output: {text: "# {{ .title }}"}}
`

// A local is a client on this machine with roots.
type local struct {
	*world
	roots []string // URIs
	none  bool     // the client has no roots
	asks  int      // how often it was asked for them
}

func newLocal(t *testing.T, change ...func(*Config)) *local {
	t.Helper()
	w := newWorld(t, uploadFile, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/export":
			w.Header().Set("Content-Type", "application/pdf")
			w.Header().Set("Content-Disposition", `attachment; filename="export.pdf"`)
			io.WriteString(w, "PDF")
		case "/notes/1":
			reply(w, 200, `{"title":"Tea"}`)
		case "/notes/2":
			reply(w, 404, `{}`)
		default:
			reply(w, 200, `{}`)
		}
	}, append([]func(*Config){func(c *Config) { c.ClientRoots = true }}, change...)...)
	return &local{world: w}
}

func (l *local) call(tool, args string) *mcp.CallToolResult {
	l.t.Helper()
	h := mcp.HandleInput(l.serve, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		if q.Method == mcp.MethodRootsList {
			l.asks++
			var r mcp.ListRootsResult
			for _, uri := range l.roots {
				r.Roots = append(r.Roots, mcp.Root{URI: uri})
			}
			return json.Marshal(r)
		}
		var p mcp.ElicitParams
		if err := mcp.Unmarshal(q.Params, &p); err != nil {
			return nil, err
		}
		l.asked = append(l.asked, p.Message)
		return json.RawMessage(`{"action":"accept","content":{"yes":true}}`), nil
	}, 0)
	c := toolCall(tool, args, nil)
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}}}
	if !l.none {
		c.Caller.Capabilities.Roots = &mcp.RootsCapability{}
	}
	return decodeResult(l.t, h, c)
}

func (l *local) says(tool, args string) string { l.t.Helper(); return said(l.call(tool, args)) }

func (l *local) sends(tool, name string) string {
	l.t.Helper()
	raw, _ := json.Marshal(map[string]string{"file": name})
	return l.says(tool, string(raw))
}

func uriOf(dir string) string {
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/")}).String()
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A file below a root of the client is sent, however it is named; the name, size and
// type of it are known before.
func TestUploadFromRoots(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "from a root", "sub/b.txt": "below"})
	l := newLocal(t)
	l.roots = []string{"https://example.com/", uriOf(dir)}
	for _, name := range []string{"a.txt", filepath.Join(dir, "a.txt"), uriOf(filepath.Join(dir, "a.txt")), strings.Replace(uriOf(dir), "file://", "file://localhost", 1) + "/%61.txt"} {
		expect(t, name, l.sends("send", name), "{}")
		sent := strings.Join(l.requests(), "\n")
		expect(t, name, sent, "…from a root")
		expect(t, name, sent, `…name="doc"; filename="a.txt"`)
	}
	expect(t, "sub", l.sends("path", "sub/b.txt"), "{}")
	sent := strings.Join(l.requests(), "\n")
	expect(t, "path", sent, "…below")
	expect(t, "path", sent, `…filename="b.txt"`)

	asks := l.asks
	expect(t, "no file", l.says("send", `{"note":"n"}`), "{}")
	if l.asks != asks {
		t.Error("a call without a file asked for roots")
	}
	if sent := strings.Join(l.requests(), "\n"); strings.Contains(sent, `"doc"`) || !strings.Contains(sent, `"note"`) {
		t.Errorf("no file: %s", sent)
	}

	expect(t, "sign", l.sends("sign", "a.txt"), "{}")
	expect(t, "asked", strings.Join(l.asked, "\n"), "Send a.txt (11 bytes, )?")
	expect(t, "sign", strings.Join(l.requests(), "\n"), "POST /start length=11&name=a.txt\nPUT /content from a root")

	expect(t, "several", l.says("several", `{"files":["a.txt","sub/b.txt"]}`), `["a.txt","b.txt"]`)
	sent = strings.Join(l.requests(), "\n")
	if strings.Count(sent, `name="doc"`) != 2 {
		t.Errorf("several: %s", sent)
	}
	expect(t, "one of two", l.says("one", `{"files":["a.txt","sub/b.txt"]}`), "ERROR docs: one file can be sent, got 2")
	expect(t, "batch", l.says("each", `{"files":["a.txt","nope.txt","sub/b.txt"]}`), `…"failed":1`)
	sent = strings.Join(l.requests(), "\n")
	if strings.Count(sent, "POST /raw ") != 2 {
		t.Errorf("batch: %s", sent)
	}
}

// What is not a regular file below a root is refused before anything is sent.
func TestUploadStaysInRoots(t *testing.T) {
	near := t.TempDir()
	dir := filepath.Join(near, "root")
	write(t, near, map[string]string{"root/a.txt": "inside", "secret.txt": "outside", "rooted/x": "outside", "root/token": "x marker-TOKEN y", "root/big": strings.Repeat("x", 1025)})
	l := newLocal(t)
	l.roots = []string{uriOf(dir)}
	bad := map[string]string{
		"../secret.txt":                                   "has a .. element",
		dir + "/../secret.txt":                            "has a .. element",
		uriOf(dir) + "/%2e%2e/secret.txt":                 "has a .. element",
		uriOf(dir) + "/..%2fsecret.txt":                   "has a .. element",
		filepath.Join(near, "secret.txt"):                 "is outside of the folders of the client (roots)",
		filepath.Join(near, "rooted", "x"):                "is outside of the folders of the client (roots)",
		"/etc/passwd":                                     "is outside of",
		"file:///etc/passwd":                              "is outside of",
		"file://other" + filepath.ToSlash(dir) + "/a.txt": "on another machine",
		"file:a.txt":                                      "not a plain file URI",
		uriOf(dir) + "/a.txt?x":                           "not a plain file URI",
		"a\x00.txt":                                       "zero byte",
		"nope.txt":                                        "there is no file",
		dir:                                               "not a regular file",
		".":                                               "not a regular file",
		"token":                                           "contains a credential of this server",
		"https://example.com/a.txt":                       "not a resource of this server",
		"test://other":                                    "not a resource of this server",
		"test-result://nope":                              "not known or has expired",
		"test://notes/2.md":                               "read",
	}
	if runtime.GOOS != "windows" {
		for link, to := range map[string]string{"out": near, "outFile": filepath.Join(near, "secret.txt"), "up": "../secret.txt", "loop": "loop"} {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		bad["out/secret.txt"], bad["outFile"], bad["up"] = "escapes", "escapes", "escapes"
		bad[filepath.Join(dir, "out", "secret.txt")] = "escapes"
		bad["loop"] = "cannot be uploaded"
		if err := os.Symlink("a.txt", filepath.Join(dir, "in")); err != nil {
			t.Fatal(err)
		}
		expect(t, "a link inside", l.sends("send", "in"), "{}")
		expect(t, "a link inside", strings.Join(l.requests(), "\n"), "…inside")
	}
	for name, want := range bad {
		for _, tool := range []string{"send", "path"} {
			if tool == "path" && scheme(name) != "" && scheme(name) != "file" {
				continue
			}
			expect(t, tool+" "+name, l.sends(tool, name), "…"+want)
		}
	}
	expect(t, "too many", l.says("several", `{"files":["a.txt"`+strings.Repeat(`,"a.txt"`, 100)+`]}`), "ERROR the file docs: at most 100 files can be uploaded at once, got 101")
	if runtime.GOOS != "windows" {
		write(t, dir, map[string]string{"a\nb": "x"})
		l.sends("sign", "a\nb")
		expect(t, "a line break in a name", strings.Join(l.asked, "\n"), "Send ab (1 bytes, )?")
		l.requests()
	}
	expect(t, "too large", l.sends("sign", "big"), `ERROR "big" is too large: at most 1 KiB can be uploaded here`)
	var writes []string
	for _, r := range l.requests() {
		if !strings.HasPrefix(r, "GET ") {
			writes = append(writes, r)
		}
	}
	if len(writes) > 0 {
		t.Errorf("sent %q", writes)
	}
	for _, whole := range []string{"file:///", "file:///.", "file://" + filepath.ToSlash(filepath.VolumeName(dir)) + "/"} {
		l.roots = []string{whole}
		expect(t, whole, l.sends("send", filepath.Join(dir, "a.txt")), "…names no folder of this machine as a root")
	}
	l.roots = []string{uriOf(filepath.Join(dir, "a.txt"))} // a root may be a file
	expect(t, "a root that is a file", l.sends("send", filepath.Join(dir, "a.txt")), "{}")
	expect(t, "beside it", l.sends("send", filepath.Join(dir, "big")), "…is outside of")
	l.roots = []string{uriOf(dir), uriOf(near)}
	write(t, near, map[string]string{"a.txt": "another"})
	expect(t, "two roots", l.sends("send", "a.txt"), "…in several of")
}

// Without roots, and where the client may be on another machine, the error says what
// to do; the folder of the setting files counts alone.
func TestUploadWithoutRoots(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{"a.txt": "x"})
	write(t, other, map[string]string{"b.txt": "y"})
	l := newLocal(t)
	l.none = true
	expect(t, "no roots", l.sends("send", "a.txt"), "…the client does not say which folders may be used (it has no roots). Start the server with the setting files=DIR")
	l.none = false
	expect(t, "no root", l.sends("send", "a.txt"), "…names no folder of this machine as a root")
	remote := newLocal(t, func(c *Config) { c.ClientRoots = false })
	remote.roots = []string{uriOf(dir)}
	expect(t, "remote", remote.sends("send", "a.txt"), "…started without the setting files=DIR")
	if remote.asks > 0 {
		t.Error("a client on another machine was asked for its roots")
	}
	set := newLocal(t, func(c *Config) { c.Files = other })
	set.roots = []string{uriOf(dir)}
	expect(t, "files", set.sends("send", "b.txt"), "{}")
	expect(t, "files", set.sends("send", filepath.Join(other, "b.txt")), "{}")
	expect(t, "not the root", set.sends("send", filepath.Join(dir, "a.txt")), "…outside of the folder of files")
	if set.asks > 0 {
		t.Error("with the setting files, the client was asked for its roots")
	}
}

// A resource of the server, and what a result links to, can be sent again.
func TestUploadOfResources(t *testing.T) {
	l := newLocal(t)
	expect(t, "resource", l.sends("send", "test://notes/1.md"), "{}")
	sent := strings.Join(l.requests(), "\n")
	for _, want := range []string{"# Tea", `filename="1.md"`, "Content-Type: text/markdown"} {
		expect(t, "resource", sent, "…"+want)
	}
	var link string
	for _, c := range l.call("export", "{}").Content {
		if r, ok := c.(*mcp.ResourceLink); ok {
			link = r.URI
		}
	}
	expect(t, "link", l.sends("sign", link), "{}")
	expect(t, "link", strings.Join(l.asked, "\n"), "Send export.pdf (3 bytes, application/pdf)?")
	expect(t, "link", strings.Join(l.requests(), "\n"), "…PUT /content PDF")
	if l.asks > 0 {
		t.Error("a resource needed roots")
	}
	c := toolCall("send", fmt.Sprintf(`{"file":%q}`, link), &mcp.Principal{ID: "someone else"})
	expect(t, "another caller", said(decodeResult(t, l.serve, c)), "…not known or has expired")
}

// The user confirms a content, not a name.
func TestUploadOfAChangedFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "tea"})
	l := newLocal(t)
	h := mcp.HandleInput(l.serve, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		if q.Method == mcp.MethodRootsList {
			return json.Marshal(mcp.ListRootsResult{Roots: []mcp.Root{{URI: uriOf(dir)}}})
		}
		write(t, dir, map[string]string{"a.txt": "oil"})
		return json.RawMessage(`{"action":"accept","content":{"yes":true}}`), nil
	}, 0)
	c := toolCall("sign", `{"file":"a.txt"}`, nil)
	c.Caller.Capabilities = &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}, Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}}}
	expect(t, "changed", said(decodeResult(t, h, c)), "…nothing was done: a file has changed since the user was asked")
	if seen := l.requests(); len(seen) > 0 {
		t.Errorf("sent %q", seen)
	}
}

// Mistakes with files are found when the file is loaded.
func TestCheckOfFiles(t *testing.T) {
	const params = `params: {file: string}, `
	for tool, want := range map[string]string{
		params + `files: {doc: "{{ .fil }}"}, request: {method: POST, path: /x, raw: {file: doc}}`:                                          `files.doc.from: there is no parameter "fil"; did you mean "file"?`,
		params + `files: {doc: "{{ .file }}"}, request: {method: POST, path: /x, raw: {file: dok}}`:                                         `raw.file: there is no file "dok"; did you mean "doc"?`,
		params + `files: {doc: "{{ .file }}"}, request: {method: POST, path: /x, body: {n: "{{ $files.dok.size }}"}}`:                       `body.n: there is no file "dok"`,
		params + `files: {doc: "{{ .file }}"}, request: {method: POST, path: /x, body: {n: "{{ $files.doc.size }}"}}`:                       `files.doc: the file is not sent by any request`,
		params + `request: {method: POST, path: /x, body: {f: "{{ .file }}"}}, output: {jq: "$files.doc.name"}`:                             `there is no file "doc"; name it below files of the tool`,
		params + `files: {doc: {from: "{{ .file }}", max: 65MiB}}, request: {method: POST, path: /x, raw: {file: doc}}`:                     `files.doc.max: an upload has at most 64 MiB`,
		params + `files: {"a-b": "{{ .file }}"}, request: {method: POST, path: /x, raw: {file: a-b}}`:                                       `a name of a file has letters`,
		params + `files: {doc: "{{ $files.doc.name }}"}, request: {method: POST, path: "/{file}", raw: {file: doc}}`:                        `the files are not known here yet`,
		params + `files: {doc: "{{ .file }}"}, request: {method: POST, path: /x, raw: {file: doc, text: x}}`:                                `needs one of text, base64, path and file`,
		params + `files: {doc: {form: "{{ .file }}"}}, request: {method: POST, path: /x, raw: {file: doc}}`:                                 `unknown member; did you mean "from"?`,
		params + `readonly: true, files: {doc: "{{ .file }}"}, request: {method: POST, path: /x, raw: {file: doc}}, paginate: {kind: link}`: `files: cannot be combined with paginate`,
		`request: GET /x, cache: {ttl: 1m, scope: shared}`:                                                                                  `cache.scope: `,
	} {
		checkTool(t, tool, want)
	}
	err := Check(Config{Data: []byte("tenon: api/1\nname: test\napi: {base: \"https://api.example.com\"}\nresources: [{uri: \"a://b\", name: n, readonly: true, request: {method: POST, path: /x, raw: {file: doc}}}]\n"), Name: "f.yaml"})
	if err == nil || !strings.Contains(err.Error(), `f.yaml:4:`) || !strings.Contains(err.Error(), "only the requests of a tool can use its files") {
		t.Errorf("a resource: %v", err)
	}
}
