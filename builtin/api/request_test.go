package api

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const requestFile = `
auth: {kind: bearer, token: "${env:TOKEN}"}
tools:
  get:
    description: get
    params: {owner: {type: string, required: true}, state: {type: string, default: open}, labels: {type: array}, n: integer}
    request: GET /r/{owner}/x{?state,labels*}
    output: {jq: "{got: .a, owner: $args.owner, n: $args.n}"}
  tree:
    description: tree
    params: {path: {type: string, required: true}}
    request: GET /tree/{+path}
  post:
    description: post
    params: {title: string, tags: {type: array}, h: string}
    request:
      method: POST
      path: /post?fixed=1
      query: {t: "{{ .tags }}", none: "{{ .h }}"}
      headers: {X-H: "{{ .h }}"}
      body: {title: "{{ .title }}", nested: {all: "{{ .tags }}", text: "<{{ .title }}>"}, keep: null}
  form:
    description: form
    readonly: true
    params: {a: string}
    request: {method: POST, path: /form, form: {a: "{{ .a }}", b: "x y"}}
  upload:
    description: upload
    params: {name: string, content: string, data: string, path: string}
    request:
      method: POST
      path: /upload
      multipart: {title: "{{ .name }}", text: {text: "{{ .content }}", name: "{{ .name }}"}, bin: {base64: "{{ .data }}", name: b}, file: {path: "{{ .path }}"}}
  raw:
    description: raw
    params: {html: string}
    request: {method: PUT, path: /raw, raw: {text: "{{ .html }}", type: text/html}}
`

func TestRequests(t *testing.T) {
	w := newWorld(t, requestFile, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, `{"a":12345678901234567890}`) })
	for _, test := range []struct{ tool, args, request, want string }{
		{"get", `{"owner":"a/b c","labels":["x","y&z"],"n":3}`, "GET /r/a%2Fb%20c/x?state=open&labels=x&labels=y%26z", `{"got":12345678901234567890,"n":3,"owner":"a/b c"}`},
		{"get", `{"owner":"ü"}`, "GET /r/%C3%BC/x?state=open", `…"owner":"ü"`},
		{"tree", `{"path":"a b/c?d/e.txt"}`, "GET /tree/a%20b/c%3Fd/e.txt", `…12345`},
		{"post", `{"title":"T","tags":[1,2]}`, `POST /post?fixed=1&t=1&t=2 {"keep":null,"nested":{"all":[1,2],"text":"<T>"},"title":"T"}`, "…a"},
		{"post", `{}`, `POST /post?fixed=1 {"keep":null,"nested":{"text":"<>"}}`, "…a"},
		{"form", `{"a":"1&2"}`, `POST /form a=1%262&b=x+y`, "…a"},
		{"raw", `{"html":"<b>"}`, `PUT /raw <b>`, "…a"},
	} {
		expect(t, test.tool, w.says(test.tool, test.args), test.want)
		expect(t, test.tool+" "+test.args, strings.Join(w.requests(), "\n"), test.request)
	}
}

// A path argument never leads to another path, and nothing is sent if it would.
func TestPathInjection(t *testing.T) {
	w := newWorld(t, requestFile, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, `{}`) })
	for _, bad := range []string{"..", ".", "", "a/../../x", `..\\x`, "%2e%2e", "%2e%2e%2fx", "%252e%252e/x", "a\\r\\nX-Evil: 1", "a\\u0000b", "a/..", "../x"} {
		expect(t, bad, w.says("get", `{"owner":"`+bad+`"}`), "…ERROR argument")
		expect(t, bad, w.says("tree", `{"path":"`+bad+`"}`), "…ERROR argument")
	}
	for _, bad := range []string{"a//b", "/"} {
		expect(t, bad, w.says("tree", `{"path":"`+bad+`"}`), "…ERROR argument")
	}
	expect(t, "header", w.says("post", `{"h":"a\r\nX-Evil: 1"}`), "…ERROR the value of the header X-H has control characters")
	if seen := w.requests(); len(seen) > 0 {
		t.Errorf("sent %q", seen)
	}
	for _, odd := range []string{"a?b#c", "@evil.example", "//evil.example/x", "a;b", "https://evil.example"} {
		w.says("get", `{"owner":"`+odd+`"}`)
		for _, r := range w.requests() {
			if !strings.HasPrefix(r, "GET /r/") || !strings.HasSuffix(r, "/x?state=open") {
				t.Errorf("%s became %s", odd, r)
			}
		}
	}
}

func TestUploads(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	var form map[string]string
	w := newWorld(t, requestFile, func(w http.ResponseWriter, r *http.Request) {
		form = map[string]string{}
		if err := r.ParseMultipartForm(1 << 20); err == nil {
			for name, v := range r.MultipartForm.Value {
				form[name] = v[0]
			}
			for name, f := range r.MultipartForm.File {
				open, _ := f[0].Open()
				b := make([]byte, 100)
				n, _ := open.Read(b)
				form[name] = f[0].Filename + ":" + string(b[:n])
			}
		}
		reply(w, 200, `{}`)
	}, func(c *Config) { c.Files = dir })
	w.says("upload", `{"name":"n\"\r\nX: y","content":"c","data":"aGk=","path":"f.txt"}`)
	want := map[string]string{"title": "n\"\r\nX: y", "text": `n%22X: y:c`, "bin": "b:hi", "file": "f.txt:from a file"}
	for name, value := range want {
		if form[name] != value {
			t.Errorf("%s: got %q, want %q", name, form[name], value)
		}
	}
	w.requests()
	for bad, want := range map[string]string{"../x": "has a .. element", "/etc/passwd": "is outside of the folder of files", "nope": "there is no file"} {
		got := w.says("upload", `{"path":"`+bad+`"}`)
		expect(t, bad, got, "…"+want)
		if strings.Contains(got, dir) {
			t.Errorf("%s: the error names a folder of the server: %s", bad, got)
		}
	}
	expect(t, "base64", w.says("upload", `{"data":"%%"}`), "…not base64")
	if seen := w.requests(); len(seen) > 0 {
		t.Errorf("sent %q", seen)
	}
}
