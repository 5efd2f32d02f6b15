package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// A tool that reads first and writes then does not only read.
func TestWritingFollowUpsAreNotReadOnly(t *testing.T) {
	const file = `
tools:
  read: {description: d, request: GET /x, then: [{request: GET /y}]}
  write: {description: d, request: GET /x, then: [{request: GET /y}, {request: DELETE /x}]}
  search: {description: d, readonly: true, request: GET /x, then: [{request: POST /search}]}
`
	w := newWorld(t, file, http.NotFound)
	list := w.ask(mcp.MethodToolsList, "")
	if n := strings.Count(list, `"readOnlyHint":true`); n != 2 {
		t.Errorf("%d tools only read: %s", n, list)
	}
	w = newWorld(t, file, http.NotFound, func(c *Config) { c.ReadOnly = true })
	if list := w.ask(mcp.MethodToolsList, ""); strings.Contains(list, `"write"`) || !strings.Contains(list, `"search"`) {
		t.Errorf("readonly has %s", list)
	}
}

// Check refuses what has no effect or another one than it says.
func TestCheckRefuses(t *testing.T) {
	const paged = `request: GET /x, paginate: {kind: page, param: page}`
	const batched = `request: "GET /{id}", params: {ids: {type: array}}, batch: {over: ids, as: id}`
	for tool, want := range map[string]string{
		`request: DELETE /x, readonly: true`:                                                "a DELETE writes",
		`request: GET /x, readonly: true, then: [{request: PATCH /x}]`:                      "a PATCH writes",
		`request: POST /x, lookup: {request: PUT /y, readonly: true}`:                       "a PUT writes",
		`request: {url: "https://api.example.com/users/{{ .id }}"}, params: {id: string}`:   "a template must be the whole URL",
		`request: {path: /x, headers: {X-Api-Key: "${env:KEY}"}}`:                           "secrets belong to auth",
		`request: {path: /x, query: {key: "${env:KEY}"}}`:                                   "secrets belong to auth",
		`request: {method: POST, path: /x, body: {a: [{key: "${keyring:k}"}]}}`:             "secrets belong to auth",
		`request: GET /x, then: [{request: {path: /y, headers: {X-Api-Key: "${file:k}"}}}]`: "secrets belong to auth",
		paged + `, then: [{request: GET /y}]`:                                               "then: cannot be combined with paginate",
		paged + `, task: {}`:                                                                "task: cannot be combined with paginate",
		paged + `, idempotency: {header: X-Key}`:                                            "idempotency: cannot be combined with paginate",
		paged + `, output: {as: file}`:                                                      "output.as: cannot be combined with paginate",
		batched + `, task: {}`:                                                              "batch: cannot be combined with task",
		batched + `, output: {text: x}`:                                                     "output.text: cannot be combined with batch",
		batched + `, output: {as: file}`:                                                    "output.as: cannot be combined with batch",
		batched + `, output: {name: x}`:                                                     "output.name: cannot be combined with batch",
	} {
		checkTool(t, tool, want)
	}
	for head, want := range map[string]string{
		"api: {base: \"https://api.example.com\", retry: {safe: true}}":                                   "api.retry.safe: belongs to the retry of a tool",
		"api: {base: \"https://api.example.com\"}\nauth: {kind: bearer, token: \"${env:T:-marker-tok}\"}": "must not have a default",
		"api: {base: \"https://api.example.com\"}\nauth: {kind: oauth2, grant: code, token_url: \"https://l.example.com\", authorize_url: \"https://l.example.com\", client_id: me, redirect_url: \"${env:U}\"}": "redirect_url: references are not replaced",
	} {
		err := Check(Config{Data: []byte("tenon: api/1\nname: test\n" + head + "\ntools: {t: {description: d, request: GET /x}}\n"), Name: "f.yaml"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "marker") {
			t.Errorf("%s: %v", head, err)
		}
	}
}

// A write that was done is not called a failure that can be repeated, whatever the
// form of the answer.
func TestUnexpectedAnswersAfterWrites(t *testing.T) {
	const file = `
tools:
  jq: {description: d, request: POST /x, output: {jq: ".id + 1"}}
  text: {description: d, request: POST /x, output: {text: "{{ .id + 1 }}"}}
  schema: {description: d, request: PUT /x, output: {jq: "{id}", schema: {type: object, properties: {id: {type: integer}}}}}
  empty: {description: d, request: DELETE /empty, output: {schema: {type: object}}}
  many: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id}, request: "POST /{id}", output: {jq: ".id + 1"}}
  read: {description: d, request: GET /x, output: {jq: ".id + 1"}}
`
	w := newWorld(t, file, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/empty" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		reply(w, 201, `{"id":"text"}`)
	})
	for _, tool := range []string{"jq", "text", "schema", "empty"} {
		got := w.says(tool, "{}")
		expect(t, tool, got, "…The request was done: do not repeat it")
		expect(t, tool, got, "…ERROR Test: the answer has not the expected form")
	}
	expect(t, "many", w.says("many", `{"ids":["a"]}`), "…The request was done: do not repeat it")
	if got := w.says("read", "{}"); strings.Contains(got, "was done") || !strings.HasPrefix(got, "ERROR") {
		t.Errorf("read: %s", got)
	}
}

// A batch has at most 100 items unless its parameter says otherwise, and ends with
// its call.
func TestBatchesAreBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := newWorld(t, `
tools:
  many: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id, concurrency: 1}, request: "GET /{id}"}
  more: {description: d, params: {ids: {type: array, maxItems: 150}}, batch: {over: ids, as: id}, request: "GET /{id}"}
`, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stop" {
			cancel()
		}
		reply(w, 200, `{}`)
	})
	items := func(first string, n int) string {
		return `{"ids":["` + first + `"` + strings.Repeat(`,"a"`, n-1) + `]}`
	}
	expect(t, "too many", w.says("many", items("a", 101)), "…ERROR")
	if n := len(w.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	expect(t, "more", w.says("more", items("a", 150)), `…"failed":0`)
	w.requests()
	if _, err := w.serve.Serve(ctx, toolCall("many", items("stop", 100), nil)); err == nil {
		t.Error("a cancelled call succeeded")
	}
	if n := len(w.requests()); n > 3 {
		t.Errorf("%d requests of a cancelled call", n)
	}
}

// checkTool checks a file with one tool and expects a mistake with a text.
func checkTool(t *testing.T, tool, want string) {
	t.Helper()
	err := Check(Config{Data: []byte("tenon: api/1\nname: test\napi: {base: \"https://api.example.com\"}\ntools: {t: {description: d, " + tool + "}}\n"), Name: "f.yaml"})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %s", tool, err, want)
	}
}

// Parameters that clients send as headers, too, are checked: a mistake would hide the
// tool from clients over HTTP.
func TestCheckOfHeaderParameters(t *testing.T) {
	checkTool(t, `params: {r: {type: array, required: true, x-mcp-header: R}}, request: "GET /{r}"`, "tools.t.params.r: x-mcp-header of r: the type of the property must be")
	checkTool(t, `params: {r: {type: string, required: true, x-mcp-header: "A B"}}, request: "GET /{r}"`, "tools.t.params.r: x-mcp-header of r")
	checkTool(t, `params: {r: {type: string, required: true, x-mcp-header: R}, s: {type: string, required: true, x-mcp-header: r}}, request: "GET /{r}/{s}"`, "tools.t.params: x-mcp-header of s: r also names")
	w := newWorld(t, "tools: {t: {description: d, params: {r: {type: string, required: true, x-mcp-header: Region}}, request: 'GET /{r}'}}\n", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `{}`) })
	c := toolCall("t", `{"r":"eu"}`, nil)
	c.Headers = map[string]string{"region": "us"}
	if _, err := w.serve.Serve(t.Context(), c); err == nil || len(w.requests()) > 0 {
		t.Errorf("a header that differs from the argument: %v", err)
	}
	c.Headers["region"] = "eu"
	if _, err := w.serve.Serve(t.Context(), c); err != nil || len(w.requests()) != 1 {
		t.Error(err)
	}
}

// Clients are told how far a batch, and the pages of a list, are.
func TestProgressOfBatchesAndPages(t *testing.T) {
	w := newWorld(t, `
tools:
  many: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id, concurrency: 1}, request: "GET /{id}"}
  list: {description: d, request: GET /list, paginate: {kind: page, param: page, items: ".", size: {param: n, max: 2}}}
`, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, `[1,2]`) })
	for args, want := range map[string]string{
		`{"name":"many","arguments":{"ids":["a","b","c"]}}`: `{"progress":1,"total":3} {"progress":2,"total":3} {"progress":3,"total":3}`,
		`{"name":"list","arguments":{"limit":6}}`:           `{"progress":2,"total":6} {"progress":4,"total":6}`,
	} {
		var mu sync.Mutex
		var told []string
		_, err := w.serve.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(args), Progress: true, OnNotification: func(n mcp.Notification) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, string(n.Params))
		}})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		expect(t, args, strings.Join(told, " "), want)
		mu.Unlock()
	}
}

// A path cannot be written without its parameters: each is required or has a default. A
// segment such as {/x} and the query can be left out.
func TestCheckWantsTheParametersOfPaths(t *testing.T) {
	want := ": the path needs the parameter: say required: true, or give it a default"
	checkTool(t, `params: {a: string, b: {type: string, required: true}}, request: "GET /{b}/{a}"`, "tools.t.params.a"+want)
	checkTool(t, `params: {a: {type: array}}, request: "GET /{+a}"`, "tools.t.params.a"+want)
	checkAll(t, "tenon: api/1\nname: test\napi: {base: \"https://api.example.com\"}\ntools:\n"+
		"  a: {description: d, params: {a: {type: string, default: x}, b: string, c: string}, request: 'GET /x/{a}{/b}{?c}'}\n")
}

func TestDescribeCountsOne(t *testing.T) {
	got, err := Describe(Config{Data: []byte("tenon: api/1\nname: test\napi: {base: \"https://api.example.com\"}\ntools: {a: {description: d, request: GET /x}}\n"), Name: "f.yaml"})
	if err != nil || !strings.HasPrefix(got, "1 tool (") || !strings.HasSuffix(got, " bytes in tools/list), 0 resources, 0 prompts, 0 tests") {
		t.Errorf("got %q, %v", got, err)
	}
}
