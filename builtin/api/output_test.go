package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

const outputFile = `
tools:
  big:
    description: d
    request: GET /big
    output: {jq: "[.[] | {n, t}]", schema: {type: array, items: {type: object}}, text: '{{ .[] | "\(.n): \(.t)" }}', budget: 2KiB}
  deep: {description: d, request: GET /deep, output: {budget: 1KiB}}
  text: {description: d, request: GET /text, output: {budget: 1KiB}}
  empty: {description: d, request: DELETE /empty}
  file: {description: d, params: {id: string}, request: GET /file, output: {as: file, name: "{{ .id }}.bin"}}
  auto: {description: d, request: GET /file}
  md: {description: d, request: GET /html, output: {as: text, jq: html_to_markdown}}
  html: {description: d, request: GET /html, output: {jq: .a}}
  wrong: {description: d, request: GET /text, output: {jq: .a.b}}
  many: {description: d, params: {ids: {type: array, items: {type: string}, required: true}}, batch: {over: ids, as: id, concurrency: 2}, request: "GET /one/{id}", output: {jq: "{id: .x}"}}
  chain:
    description: d
    request: POST /start
    then:
      - {request: {method: PUT, url: "{{ $prev.next }}"}}
      - {when: "$steps[0].more", request: "GET /end?first={{ $steps[0].id }}&prev={{ $prev.id }}"}
`

func outputs(w http.ResponseWriter, r *http.Request) {
	switch p := r.URL.Path; {
	case p == "/big":
		var rows []string
		for i := range 500 {
			rows = append(rows, fmt.Sprintf(`{"n":%d,"t":"row %d","x":1}`, i, i))
		}
		reply(w, 200, "["+strings.Join(rows, ",")+"]")
	case p == "/deep":
		reply(w, 200, `{"a":{"text":"`+strings.Repeat("é", 5000)+`","n":1},"b":[1,2,3]}`)
	case p == "/text":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("long text ", 1000))
	case p == "/empty":
		w.WriteHeader(204)
	case p == "/file":
		w.Header().Set("Content-Type", "image/png")
		w.Write([]byte("\x89PNG\xff\x00"))
	case p == "/html":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<h1>T</h1><ul><li>a</li></ul>")
	case strings.HasPrefix(p, "/one/"):
		if p == "/one/bad" {
			reply(w, 404, `{"message":"gone"}`)
			return
		}
		reply(w, 200, `{"x":"`+p[5:]+`"}`)
	case p == "/start":
		reply(w, 200, `{"id":1,"more":true,"next":"http://`+r.Host+`/step"}`)
	case p == "/step":
		reply(w, 200, `{"id":2}`)
	default:
		reply(w, 200, `{"end":true}`)
	}
}

// read reads the resource that a result links to.
func (w *world) read(r *mcp.CallToolResult, who *mcp.Principal) string {
	w.t.Helper()
	for _, c := range r.Content {
		if link, ok := c.(*mcp.ResourceLink); ok {
			params, _ := json.Marshal(map[string]string{"uri": link.URI})
			res, err := w.serve.Serve(w.t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead, Params: params, Caller: mcp.Caller{Principal: who}})
			if err != nil {
				return "ERROR " + err.Error()
			}
			return string(res.Body)
		}
	}
	return "no link"
}

// A result keeps to its budget and its schema, and the whole is behind a link that
// only its caller can read.
func TestBudget(t *testing.T) {
	w := newWorld(t, outputFile, outputs)
	for tool, budget := range map[string]int{"big": 2 << 10, "deep": 1 << 10, "text": 1 << 10} {
		ada := &mcp.Principal{ID: "ada"}
		r := w.callAs(tool, "{}", mcp.ActionAccept, ada)
		if r.IsError || len(r.StructuredContent) > budget+64 || len(r.Content.Text()) > budget+512 {
			t.Errorf("%s: %d and %d bytes: %.200s", tool, len(r.StructuredContent), len(r.Content.Text()), said(r))
		}
		expect(t, tool, said(r), "…The whole result is in the linked resource")
		expect(t, tool+" of another", w.read(r, &mcp.Principal{ID: "eve"}), "…ERROR")
		expect(t, tool+" of nobody", w.read(r, nil), "…ERROR")
		whole := w.read(r, ada)
		if len(whole) < 8000 {
			t.Errorf("%s: the link has %d bytes", tool, len(whole))
		}
	}
	expect(t, "items", w.says("big", "{}"), "…of 500 items are shown")
	expect(t, "items", w.says("big", "{}"), "…0: row 0\n1: row 1\n")
}

func TestOutputs(t *testing.T) {
	w := newWorld(t, outputFile, outputs)
	expect(t, "empty", w.says("empty", "{}"), "Done.")
	expect(t, "markdown", w.says("md", "{}"), "# T\n\n- a")
	expect(t, "wrong", w.says("wrong", "{}"), "ERROR Test: the answer has not the expected form: expected an object but got string")
	expect(t, "html", w.says("html", "{}"), "…ERROR Test: the answer is text/html instead of JSON")
	r := w.call("file", `{"id":"a/../b"}`)
	expect(t, "file", said(r), "b.bin (image/png, 6 bytes) is in the linked resource.")
	expect(t, "file", w.read(r, nil), `…"blob":"iVBOR/8A"`)
	expect(t, "binary", said(w.call("auto", `{}`)), "auto (image/png, 6 bytes) is in the linked resource.")
	expect(t, "batch", w.says("many", `{"ids":["a","bad","..","c"]}`), `{"failed":2,"results":[{"id":"a","result":{"id":"a"}},{"error":"Test answered 404 Not Found: gone","id":"bad"},{"error":"argument \"id\" has the path segment \"..\", which is refused","id":".."},{"id":"c","result":{"id":"c"}}]}`)
	w.requests()
	expect(t, "chain", w.says("chain", "{}"), `{"end":true}`)
	expect(t, "chain", strings.Join(w.requests(), "|"), "POST /start|PUT /step|GET /end?first=1&prev=2")
}

const featureFile = `
tools: {x: {description: d, request: GET /x}}
resources:
  - {uri: "test://{owner}/issues/{n}", name: issue, mime: text/markdown, request: "GET /r/{owner}/{n}", output: {text: "# {{ .title }}"}, complete: {owner: owners}}
  - {uri: "test://all", name: all, request: GET /list, output: {jq: "[.[].n]"}}
prompts:
  report: {description: Report, arguments: {repo: {required: true, complete: repos}, kind: {enum: [bug, idea]}}, lookup: "GET /r/x/{repo}", text: "Write about {{ .repo }}: {{ $lookup.title }}"}
completions:
  owners: {values: [Ada, Alan, Bob]}
  repos: {request: "GET /search?q={{ $value }}&kind={{ .kind }}", jq: ".items[].name"}
`

func features(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/r/ada/1", "/r/x/tenon":
		reply(w, 200, `{"title":"First"}`)
	case "/list":
		reply(w, 200, `[{"n":1},{"n":2}]`)
	case "/search":
		reply(w, 200, `{"items":[{"name":"tenon"},{"name":"other"},{"name":"Test"}]}`)
	default:
		reply(w, 404, `{}`)
	}
}

// A resource that a client subscribed to is requested until the subscription ends,
// and the client is told when it changes.
func TestSubscriptions(t *testing.T) {
	version, polls := atomic.Int32{}, atomic.Int32{}
	w := newWorld(t, `resources: [{uri: "test://{id}", name: r, request: "GET /{id}", subscribe: 5ms}]`, func(w http.ResponseWriter, r *http.Request) {
		polls.Add(1)
		reply(w, 200, fmt.Sprint(version.Load()))
	})
	ctx, stop := context.WithCancel(t.Context())
	updated, ended := make(chan mcp.Notification, 100), make(chan struct{})
	go func() {
		defer close(ended)
		w.serve.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"resourceSubscriptions":["test://x"]}}`), OnNotification: func(n mcp.Notification) {
			if n.Method == mcp.NotificationResourceUpdated {
				updated <- n
			}
		}})
	}()
	eventually(t, "the resource is not requested", func() bool { return polls.Load() > 2 })
	if len(updated) > 0 {
		t.Error("told of a change that did not happen")
	}
	version.Add(1)
	select {
	case n := <-updated:
		expect(t, "notification", string(n.Params), "…test://x")
	case <-time.After(time.Minute):
		t.Error("not told of the change")
	}
	stop()
	<-ended
	eventually(t, "the resource is still requested", func() bool {
		before := polls.Load()
		time.Sleep(50 * time.Millisecond)
		return polls.Load() == before
	})
}

func TestResourcesPromptsAndCompletions(t *testing.T) {
	w := newWorld(t, featureFile, features)
	expect(t, "template", w.ask(mcp.MethodResourcesRead, `{"uri":"test://ada/issues/1"}`), `…"mimeType":"text/markdown","text":"# First"`)
	expect(t, "resource", w.ask(mcp.MethodResourcesRead, `{"uri":"test://all"}`), `…[1,2]`)
	expect(t, "not found", w.ask(mcp.MethodResourcesRead, `{"uri":"test://ada/issues/2"}`), "…ERROR")
	expect(t, "traversal", w.ask(mcp.MethodResourcesRead, `{"uri":"test://%2e%2e/issues/1"}`), "…ERROR")
	expect(t, "prompt", w.ask(mcp.MethodPromptsGet, `{"name":"report","arguments":{"repo":"tenon"}}`), `…Write about tenon: First`)
	expect(t, "required", w.ask(mcp.MethodPromptsGet, `{"name":"report"}`), `…ERROR`)
	expect(t, "enum", w.ask(mcp.MethodPromptsGet, `{"name":"report","arguments":{"repo":"tenon","kind":"x"}}`), `…must be one of bug, idea`)
	expect(t, "fixed", w.ask(mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"test://{owner}/issues/{n}"},"argument":{"name":"owner","value":"a"}}`), `…["Ada","Alan"]`)
	w.requests()
	expect(t, "requested", w.ask(mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"report"},"argument":{"name":"repo","value":"te"},"context":{"arguments":{"kind":"a b"}}}`), `…["tenon","Test"]`)
	expect(t, "request", strings.Join(w.requests(), ""), "GET /search?kind=a+b&q=te")
}

// output.as is the form of the last response: those before it are what they are.
func TestFormOfTheLastResponse(t *testing.T) {
	w := newWorld(t, `tools:
  read: {description: d, request: GET /info, then: {request: {url: "{{ $prev.url }}"}}, output: {as: text}}
  load: {description: d, request: GET /info, then: [{request: GET /info}, {request: {url: "{{ $prev.url }}"}}], output: {as: file}}
  work: {description: d, request: POST /start, task: {every: 1ms, url: "{{ .poll }}", done: ".done", result: "{{ .url }}"}, output: {as: file}}
`, func(w http.ResponseWriter, r *http.Request) {
		switch url := "http://" + r.Host; r.URL.Path {
		case "/info", "/poll":
			reply(w, 200, `{"done":true,"url":"`+url+`/file"}`)
		case "/start":
			reply(w, 202, `{"poll":"`+url+`/poll"}`)
		default:
			reply(w, 200, `{"tea": 1.0}`)
		}
	})
	expect(t, "text", w.says("read", "{}"), `{"tea": 1.0}`)
	for _, tool := range []string{"load", "work"} {
		r := w.call(tool, "{}")
		expect(t, tool, said(r), "…(application/json, 12 bytes) is in the linked resource.")
		expect(t, tool, w.read(r, nil), "…"+base64.StdEncoding.EncodeToString([]byte(`{"tea": 1.0}`)))
	}
}
