package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

const refundFile = `
tools:
  refund:
    description: Refund
    params: {id: {type: string, required: true}, amount: {type: number, required: true}}
    lookup: {request: "GET /orders/{id}", jq: "{name, currency}"}
    confirm: {when: .amount > 1, message: "Refund {{ .amount }} {{ $lookup.currency }} to {{ $lookup.name }}?"}
    idempotency: {header: Idempotency-Key}
    request: {method: POST, path: "/orders/{id}/refunds", body: {amount: "{{ .amount }}", currency: "{{ $lookup.currency }}", key: "{{ $key }}"}}
    error: {status: 409, message: "Already refunded: {{ .detail }}"}
  same:
    description: The same arguments have the same key
    params: {id: string}
    idempotency: {header: X-Key, key: args}
    request: {method: POST, path: "/same", body: {id: "{{ .id }}"}}
  plain:
    description: Cannot be repeated
    params: {id: string}
    confirm: {message: "Do {{ .id }}?"}
    request: {method: POST, path: "/plain", body: {id: "{{ .id }}"}}
  anyway:
    description: Proceeds without a user
    confirm: {message: "Sure?", without: proceed}
    request: POST /plain
`

func shop(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		reply(w, 200, `{"name":"Ada","currency":"EUR","secret":"not for the question"}`)
		return
	}
	reply(w, 201, fmt.Sprintf(`{"key":%q}`, r.Header.Get("Idempotency-Key")+r.Header.Get("X-Key")))
}

func TestConfirmationShowsRealValues(t *testing.T) {
	w := newWorld(t, refundFile, shop)
	expect(t, "refund", w.says("refund", `{"id":"7","amount":12.5}`), `…{"key":"`)
	expect(t, "question", strings.Join(w.asked, "|"), "Refund 12.5 EUR to Ada?")
	seen := w.requests()
	if len(seen) != 2 || seen[0] != "GET /orders/7" || !strings.HasPrefix(seen[1], `POST /orders/7/refunds {"amount":12.5,"currency":"EUR","key":"`) {
		t.Errorf("requests %q", seen)
	}
	w.asked = nil
	expect(t, "small", w.says("refund", `{"id":"7","amount":1}`), `…key`)
	if len(w.asked) != 0 {
		t.Errorf("asked %q", w.asked)
	}
	w.requests()
	expect(t, "declined", said(w.callAs("refund", `{"id":"7","amount":2}`, mcp.ActionDecline, nil)), "…ERROR The user declined")
	expect(t, "no user", said(decodeResult(t, w.serve, toolCall("refund", `{"id":"7","amount":2}`, nil))), "…ERROR nothing was done: this needs the confirmation of the user")
	for _, r := range w.requests() {
		if strings.HasPrefix(r, "POST") {
			t.Errorf("sent %s", r)
		}
	}
	expect(t, "anyway", said(decodeResult(t, w.serve, toolCall("anyway", `{}`, nil))), "…key")
}

// The last round of a confirmed call has an effect once, however often it is sent;
// a new call has another key.
func TestConfirmedCallsActOnce(t *testing.T) {
	w := newWorld(t, refundFile, shop)
	for _, tool := range []string{"refund", "plain"} {
		c := toolCall(tool, map[string]string{"refund": `{"id":"7","amount":5}`, "plain": `{"id":"7"}`}[tool], nil)
		c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
		_, err := w.serve.Serve(t.Context(), c)
		asks, ok := errors.AsType[*mcp.InputRequired](err)
		if !ok {
			t.Fatal(err)
		}
		again := *c
		again.InputResponses = map[string]json.RawMessage{}
		for key, v := range asks.PriorResponses {
			again.InputResponses[key] = v
		}
		for key := range asks.Requests {
			again.InputResponses[key] = json.RawMessage(`{"action":"accept","content":{"yes":true}}`)
		}
		w.requests()
		var first string
		for i := range 5 {
			res, err := w.serve.Serve(t.Context(), &again)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = string(res.Body)
			}
			expect(t, tool, string(res.Body), first)
		}
		if seen := w.requests(); len(seen) != 1 {
			t.Errorf("%s sent %q", tool, seen)
		}
	}
	a, b := w.says("refund", `{"id":"7","amount":5}`), w.says("refund", `{"id":"7","amount":5}`)
	if a == b {
		t.Errorf("two calls have the same key: %s", a)
	}
	expect(t, "same arguments", w.says("same", `{"id":"1"}`), w.says("same", `{"id":"1"}`))
	if w.says("same", `{"id":"1"}`) == w.says("same", `{"id":"2"}`) {
		t.Error("other arguments have the same key")
	}
	if said(w.callAs("same", `{"id":"1"}`, mcp.ActionAccept, &mcp.Principal{ID: "a"})) == said(w.callAs("same", `{"id":"1"}`, mcp.ActionAccept, &mcp.Principal{ID: "b"})) {
		t.Error("other callers have the same key")
	}
}

const retryFile = `
tools:
  read: {description: d, request: GET /x}
  put: {description: d, request: PUT /x}
  post: {description: d, request: POST /x}
  keyed: {description: d, idempotency: {header: Idempotency-Key}, request: POST /x}
  safe: {description: d, retry: {safe: true}, request: POST /x}
  search: {description: d, readonly: true, request: POST /x}
  once: {description: d, retry: {safe: false}, request: PUT /x}
  never: {description: d, retry: {max: 0}, request: GET /x}
`

// Requests are repeated only where that has no second effect, with the same key,
// and as late as the API asks for.
func TestRetries(t *testing.T) {
	var status atomic.Int32
	var failures atomic.Int32
	w := newWorld(t, "tenon: api/1\nname: test\ntitle: Test\napi: {base: BASE, retry: {max_wait: 3s}}\n"+retryFile, func(w http.ResponseWriter, r *http.Request) {
		if failures.Add(-1) >= 0 {
			w.Header().Set("Retry-After", "0")
			reply(w, int(status.Load()), `{"message":"wait"}`)
			return
		}
		reply(w, 200, `{"ok":true}`)
	})
	for _, code := range []int32{429, 502, 503, 504} {
		for tool, want := range map[string]int{"read": 3, "put": 3, "keyed": 3, "safe": 3, "search": 3, "post": 1, "never": 1, "once": 1} {
			status.Store(code)
			failures.Store(2)
			got := w.says(tool, "{}")
			keys := map[string]bool{}
			for _, h := range w.heads {
				keys[h.Get("Idempotency-Key")] = true
			}
			if n := len(w.requests()); n != want || len(keys) != 1 {
				t.Errorf("%s after %d: %d requests with %d keys: %s", tool, code, n, len(keys), got)
			}
		}
	}
	status.Store(500)
	failures.Store(1)
	expect(t, "500", w.says("post", "{}"), "…ERROR Test answered 500 Internal Server Error: wait. It is not known whether the request had an effect")
	if n := len(w.requests()); n != 1 {
		t.Errorf("500 was repeated: %d requests", n)
	}
}

func TestLongWaitsAreReported(t *testing.T) {
	w := newWorld(t, retryFile, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		reply(w, 429, `{}`)
	})
	expect(t, "rate limit", w.says("read", "{}"), "…ERROR Test answered 429 Too Many Requests. The rate limit is exceeded; try again in 1h0m0s")
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestErrorRules(t *testing.T) {
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api:
  base: BASE
  error:
    - {when: .ok == false and .error == "not_in_channel", message: "{{ .error }}: invite the app first"}
    - {when: .ok == false, message: "{{ .error }}"}
tools:
  get: {description: d, params: {p: {type: string, required: true}}, request: "GET /{p}", error: {status: [404], message: "No {{ $args.p }}: check the name"}}
`, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/channel":
			reply(w, 200, `{"ok":false,"error":"not_in_channel"}`)
		case "/other":
			reply(w, 200, `{"ok":false,"error":"strange"}`)
		case "/missing":
			reply(w, 404, `{}`)
		case "/denied":
			reply(w, 403, `{"message":"no","errors":[{"field":"x"}]}`)
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			w.Write([]byte("<html>bad gateway"))
		case "/broken":
			reply(w, 200, `{"ok":tru`)
		default:
			reply(w, 200, `{"ok":true}`)
		}
	})
	for p, want := range map[string]string{
		"channel": "ERROR Test: not_in_channel: invite the app first",
		"other":   "ERROR Test: strange",
		"missing": "ERROR Test: No missing: check the name",
		"denied":  `ERROR Test answered 403 Forbidden: no [{"field":"x"}]. The account may not do this`,
		"broken":  "…ERROR Test: the answer is invalid JSON",
		"good":    `{"ok":true}`,
	} {
		expect(t, p, w.says("get", `{"p":"`+p+`"}`), want)
	}
}
