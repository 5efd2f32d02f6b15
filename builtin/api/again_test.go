package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/mcp"
)

// An error after a write does not make a model repeat the write: neither one of a
// follow-up, nor one of asking for the result of work that was started.
func TestErrorsAfterAWriteDoNotAskForAnotherOne(t *testing.T) {
	const file = `
tools:
  then: {description: d, request: POST /things, then: [{request: GET /down}], retry: {max: 0}}
  work: {description: d, request: POST /work, task: {every: 1ms}, retry: {max: 0}}
  broken: {description: d, request: POST /things, task: {when: .id.state}}
  reads: {description: d, request: GET /things, then: [{request: GET /down}], retry: {max: 0}}
`
	w := newWorld(t, file, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/things":
			reply(w, 201, `{"id":"a"}`)
		case "/work":
			w.Header().Set("Location", "/down")
			reply(w, 202, `{}`)
		default:
			w.Header().Set("Retry-After", "0")
			reply(w, 500, `{"message":"boom"}`)
		}
	})
	for tool, want := range map[string]string{
		"then":   "ERROR the first request succeeded, but the next one failed: Test answered 500 Internal Server Error: boom. Do not repeat the whole call: what was sent before is done",
		"work":   "ERROR the work was started, but asking for its result failed: Test answered 500 Internal Server Error: boom. Do not start it again",
		"broken": "ERROR Test: the answer has not the expected form: expected an object but got string. The request was done: do not repeat it",
		"reads":  "ERROR the first request succeeded, but the next one failed: Test answered 500 Internal Server Error: boom",
	} {
		expect(t, tool, w.says(tool, "{}"), want)
	}
}

// An item of a batch has an idempotency key of its own: by the template, or another
// one for each item, also for equal ones.
func TestKeysOfABatch(t *testing.T) {
	const file = `
tools:
  each: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id}, idempotency: {header: K}, request: POST /x}
  same: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id}, idempotency: {header: K, key: args}, request: POST /x}
  named: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id}, idempotency: {header: K, key: "order-{{ .id }}"}, request: POST /x}
`
	w := newWorld(t, file, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, fmt.Sprintf("%q", r.Header.Get("K"))) })
	keys := func(tool string) []string {
		var out struct {
			Results []struct{ Result, Error string }
			Failed  int
		}
		got := w.call(tool, `{"ids":[7,7,8]}`)
		if err := json.Unmarshal(got.StructuredContent, &out); err != nil || out.Failed > 0 || len(out.Results) != 3 {
			t.Fatalf("%s: %v %s", tool, err, said(got))
		}
		return []string{out.Results[0].Result, out.Results[1].Result, out.Results[2].Result}
	}
	for _, tool := range []string{"each", "same"} {
		if k := keys(tool); k[0] == "" || k[0] == k[1] || k[1] == k[2] {
			t.Errorf("%s: %q", tool, k)
		}
	}
	expect(t, "equal arguments", strings.Join(keys("same"), " "), strings.Join(keys("same"), " "))
	expect(t, "named", strings.Join(keys("named"), " "), "order-7 order-7 order-8")
}

// A call that was cancelled after the user confirmed it does not act again when its
// last round arrives once more, and says what is known.
func TestACancelledCallDoesNotActAgain(t *testing.T) {
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	w := newWorld(t, refundFile, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c := toolCall("plain", `{"id":"7"}`, nil)
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	_, err := w.serve.Serve(t.Context(), c)
	asks, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok {
		t.Fatal(err)
	}
	again := *c
	again.InputResponses = asks.PriorResponses
	for key := range asks.Requests {
		again.InputResponses[key] = json.RawMessage(`{"action":"accept","content":{"yes":true}}`)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := w.serve.Serve(ctx, &again); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	expect(t, "again", said(decodeResult(t, w.serve, &again)), "ERROR the call was cancelled. It is not known whether the request had an effect: check before you call again")
	if seen := w.requests(); len(seen) != 1 {
		t.Errorf("sent %q", seen)
	}
}

// A call that was forgotten, because its user had to log in, and then acted is
// remembered for as long as every other one.
func TestAForgottenEffectDoesNotTakeAnotherAlong(t *testing.T) {
	var e effects
	login := func() (*mcp.CallToolResult, error) { return nil, &mcp.InputRequired{} }
	if _, err := e.once(t.Context(), "a", login); err == nil {
		t.Fatal("no question")
	}
	acts := 0
	act := func() (*mcp.CallToolResult, error) { acts++; return mcp.ToolError("done"), nil }
	e.once(t.Context(), "a", act)
	for i := range maxEffects - 1 { // as many as there is room for beside one
		e.once(t.Context(), fmt.Sprint("other ", i), act)
	}
	e.once(t.Context(), "a", act)
	if acts != maxEffects || len(e.known) != e.order.Len() || len(e.known) != maxEffects {
		t.Errorf("acted %d times; %d known, %d in order", acts, len(e.known), e.order.Len())
	}
}

// An array without items is no value of a path: /things/ is another resource.
func TestEmptyArraysAreRefusedInPaths(t *testing.T) {
	w := newWorld(t, `
tools:
  one: {description: d, params: {ids: {type: array, required: true}}, request: "DELETE /things/{ids}"}
  many: {description: d, params: {ids: {type: array, required: true}}, request: "DELETE /things/{+ids}"}
`, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `{}`) })
	for _, tool := range []string{"one", "many"} {
		expect(t, tool, w.says(tool, `{"ids":[]}`), `ERROR argument "ids" is empty, but the path needs it`)
	}
	expect(t, "items", w.says("one", `{"ids":[1,2]}`), "{}")
	expect(t, "requests", strings.Join(w.requests(), "|"), "DELETE /things/1,2")
}

// A subscribed resource is requested as the current version of the file says.
func TestSubscriptionsFollowAReload(t *testing.T) {
	var before, after atomic.Int32
	body := func(path string) string {
		return "resources:\n  - {uri: \"test://{id}\", name: n, request: \"GET " + path + "/{id}\", subscribe: 5ms}\ntools: {t: {description: d, request: GET /t}}\n"
	}
	path := filepath.Join(t.TempDir(), "f.yaml")
	w := newWorld(t, body("/before"), func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/after/") {
			after.Add(1)
		} else {
			before.Add(1)
		}
		reply(rw, 200, `{}`)
	}, func(c *Config) {
		if err := os.WriteFile(path, c.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		c.Data, c.File, c.Tokens = nil, path, &tokens.Memory{}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.serve.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"resourceSubscriptions":["test://1"]}}`), OnNotification: func(mcp.Notification) {}})
	}()
	defer func() { cancel(); <-ended }()
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	until("not requested", func() bool { return before.Load() > 1 })
	if err := os.WriteFile(path, []byte(w.fill(body("/after"))), 0o600); err != nil {
		t.Fatal(err)
	}
	until("not requested as the new version says", func() bool { return after.Load() > 1 })
}
