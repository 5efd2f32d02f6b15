package era_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// Cases beside the project's table: what clients get wrong in params, and what
// happens when several things happen at once.
func TestHostileParams(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	legacy := func(id, method, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
	}
	complete := func(rest string) string { return request("1", "completion/complete", rest) }
	brief := func(id, send, want string) row {
		return row{id: id, steps: []step{{send: send, want: []string{want}, look: shorterThan(8 << 10)}}}
	}
	rows := []row{
		one("tool name missing", request("1", "tools/call", ``), "1 -32602"),
		one("tool name a number", request("1", "tools/call", `"name":5`), "1 -32602"),
		one("arguments null", request("1", "tools/call", `"name":"echo","arguments":null`), "1 ok or 1 -32602"),
		one("URI a number", request("1", "resources/read", `"uri":5`), "1 -32602"),
		one("cursor null", request("1", "tools/list", `"cursor":null`), "1 ok or 1 -32602"),
		one("prompt argument a number", request("1", "prompts/get", `"name":"greet","arguments":{"who":5}`), "1 -32602"),
		one("prompt argument missing", request("1", "prompts/get", `"name":"greet"`), "1 -32602"),
		one("prompt argument unknown", request("1", "prompts/get", `"name":"greet","arguments":{"who":"a","why":"b"}`), "1 -32602 or 1 ok"),
		one("completion without ref", complete(`"argument":{"name":"who","value":""}`), "1 -32602"),
		one("completion of another type", complete(`"ref":{"type":"ref/tool","name":"echo"},"argument":{"name":"msg","value":""}`), "1 -32602"),
		one("completion without argument", complete(`"ref":{"type":"ref/prompt","name":"greet"}`), "1 -32602"),
		one("listen for a number", request("1", "subscriptions/listen", `"notifications":5`), "1 -32602"),
		one("listen to a number", request("1", "subscriptions/listen", `"notifications":{"resourceSubscriptions":[5]}`), "1 -32602"),
		one("answer with an unknown action", askable(request("1", "tools/call", `"name":"ask","inputResponses":{"first":{"action":"maybe"}}`)), "1 -32602"),
		one("answer that is empty", askable(request("1", "tools/call", `"name":"ask","inputResponses":{"first":{}}`)), "1 -32602"),
		one("M32 a huge answer to nothing that was asked", askable(request("1", "tools/call", `"name":"ask","arguments":{},"inputResponses":{"first":{"action":"accept","content":{"name":"Ada"}},"other":{"x":"`+long+`"}}`)), "1 asks or 1 -32602"),
		one("progress token 1.5", withMeta(echo, `"progressToken":1.5`), "1 -32602"),
		one("progress token null", withMeta(echo, `"progressToken":null`), "1 -32602 or "+served),
		brief("a long method", request("1", long, ""), "1 -32601"),
		brief("a long tool name", toolCall("1", long, ""), "1 -32602"),
		brief("a long prompt name", request("1", "prompts/get", `"name":"`+long+`"`), "1 -32602"),
		brief("a long version", strings.Replace(echo, "2026-07-28", long, 1), "1 -32022"),
		brief("a long log level", withMeta(echo, `"io.modelcontextprotocol/logLevel":"`+long+`"`), "1 -32602"),
		brief("a long argument", instead(`"msg"`, `"`+long+`"`), "1 failed"),
		brief("a long reference", complete(`"ref":{"type":"`+long+`","name":"greet"},"argument":{"name":"who","value":""}`), "1 -32602"),
		{id: "initialize: capabilities an array", steps: []step{
			{send: legacy("1", "initialize", `"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{"name":"p","version":"1"}`), want: []string{"1 -32602"}},
		}},
		{id: "initialized without initialize", steps: []step{
			{send: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
			{send: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		}},
		{id: "initialized twice", legacy: mcp.Rev20251125, steps: []step{
			{send: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
			{do: func(w *wire) { w.fixture.RemoveTools("big") }, wait: time.Minute, want: []string{"- note notifications/tools/list_changed"}},
		}},
		{id: "two initialize at once", steps: []step{
			{do: func(w *wire) { w.session = mcp.Rev20251125 }},
			{send: initialize("1", mcp.Rev20251125) + "\n" + initialize("1.1", mcp.Rev20251125), want: []string{"- -32600 or 1 ok", "- -32600 or 1 ok"}, look: func(t *testing.T, lines []string) {
				// One is served while the other is refused, so either may come first.
				if all := strings.Join(lines, "\n"); strings.Count(all, `"result":{`) != 1 || strings.Count(all, `"error":{`) != 1 {
					t.Errorf("not one of each: %s", all)
				}
			}},
			{send: initialize("2", mcp.Rev20251125) + "\n" + initialize("3", mcp.Rev20251125), want: []string{"2 -32600 or 3 -32600", "2 -32600 or 3 -32600"}},
		}},
		{id: "legacy progress token an object", legacy: mcp.Rev20251125, steps: []step{
			{send: legacy("1", "tools/call", `"name":"sleep","arguments":{"ms":5},"_meta":{"progressToken":{}}`), wait: time.Second, want: []string{"1 ok or 1 -32602"}},
		}},
		{id: "legacy _meta a number", legacy: mcp.Rev20251125, steps: []step{
			{send: legacy("1", "tools/call", `"name":"echo","arguments":{"msg":"hi"},"_meta":5`), want: []string{"1 -32602 or " + served}},
		}},
		{id: "a task is not made", legacy: mcp.Rev20251125, steps: []step{
			{send: legacy("1", "tools/call", `"name":"echo","arguments":{"msg":"hi"},"task":{"ttl":60000}`), want: []string{served}},
			{send: legacy("2", "tasks/list", ``), want: []string{"2 -32601"}},
		}},
		{id: "modern methods in a session", legacy: mcp.Rev20251125, steps: []step{
			{send: legacy("1", "server/discover", ``), want: []string{"1 -32602 or 1 -32601"}},
			{send: legacy("2", "subscriptions/listen", `"notifications":{}`), want: []string{"2 -32602 or 2 -32601"}},
		}},
	}
	runRows(t, rows)
}

func TestHostileAtOnce(t *testing.T) {
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	noisy := func(frame string) string {
		return withMeta(frame, `"progressToken":"t","io.modelcontextprotocol/logLevel":"debug"`)
	}
	listen := request("7", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	var flood []string
	for i := range 6 {
		flood = append(flood, toolCall(fmt.Sprint(i), "sleep", `"ms":1000`))
	}
	var subscribe []string
	for i := range 1000 {
		subscribe = append(subscribe, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"test://%d"}}`, i, i))
	}
	runRows(t, []row{
		{id: "cancelled in the same write", steps: []step{
			{send: toolCall("5", "sleep", `"ms":1000`) + "\n" + cancel("5"), wait: time.Minute},
		}},
		{id: "W44 notes after the cancellation", steps: []step{
			{send: noisy(toolCall("5", "sleep", `"ms":1000`)), want: []string{`- note "progress":1`}},
			{send: cancel("5"), wait: time.Minute},
		}},
		{id: "cancelled under another type of id", steps: []step{
			{send: toolCall("5", "sleep", `"ms":1000`)},
			{send: cancel(`"5"`), wait: time.Minute, want: []string{"5 ok DONE"}},
		}},
		{id: "cancelled when it is over", steps: []step{
			{send: echo, want: []string{served}},
			{send: cancel("1")},
			{send: echo, want: []string{served}},
		}},
		{id: "cancelled and the id used again at once", steps: []step{
			{send: toolCall("5", "sleep", `"ms":1000`) + "\n" + cancel("5") + "\n" + toolCall("5", "echo", `"msg":"hi"`), wait: time.Minute, want: []string{`5 ok "text":"hi"`}},
		}},
		{id: "an id twice, written differently", steps: []step{
			{send: toolCall(`"a"`, "sleep", `"ms":1000`)},
			{send: toolCall(`"\u0061"`, "echo", ``), want: []string{`"\u0061" -32600`}},
			{wait: time.Minute, want: []string{`"a" ok DONE`}},
		}},
		{id: "listen twice with one id", steps: []step{
			{send: listen, want: []string{"- note acknowledged"}},
			{send: listen, want: []string{"7 -32600"}},
			{do: func(w *wire) { w.fixture.RemoveTools("big") }, wait: time.Minute, want: []string{"- note list_changed"}},
			{send: cancel("7")},
		}},
		{id: "more requests than are served at once", options: era.ServerOptions{MaxServing: 4}, steps: []step{
			{send: strings.Join(flood, "\n"), want: []string{"4 -32600", "5 -32600"}},
			{send: strings.Join([]string{cancel("0"), cancel("1"), cancel("2"), cancel("3")}, "\n"), wait: time.Minute},
		}},
		{id: "more resources than can be watched", legacy: mcp.Rev20251125, steps: []step{
			{send: strings.Join(subscribe, "\n"), want: anyOK(1000)},
			{send: `{"jsonrpc":"2.0","id":"last","method":"resources/subscribe","params":{"uri":"test://x"}}`, want: []string{`"last" -32602`}},
			{do: func(w *wire) { w.fixture.ResourceUpdated("test://7") }, wait: time.Minute, want: []string{`- note "uri":"test://7"`}},
		}},
		{id: "a hundred changes are one announcement", legacy: mcp.Rev20250618, steps: []step{
			{do: func(w *wire) {
				for range 100 {
					w.fixture.RemoveTools("big")
					w.fixture.addTools()
				}
			}, wait: time.Minute, want: []string{"- note notifications/tools/list_changed"}},
		}},
	})
}

// anyOK wants n results, whatever their order.
func anyOK(n int) []string {
	want := make([]string, n)
	for i := range want {
		want[i] = "any ok"
	}
	return want
}

// The short form in which rows say what they want must be able to say no.
func TestMatches(t *testing.T) {
	const result = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`
	for _, tc := range []struct {
		line, want string
		ok         bool
	}{
		{result, "1 ok", true},
		{result, "1 ok content", true},
		{result, "any ok", true},
		{result, `"1" ok`, false},
		{result, "2 ok", false},
		{result, "1 ok absent", false},
		{result, "1 failed", false},
		{result, "1 asks", false},
		{result, "1 -32600", false},
		{result, "- ok", false},
		{"[" + result, "1 ok", false},
		{"[" + result, "[1 ok", true},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}`, "- -32700", true},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}`, "- -32600", false},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`, "- -32700", false},
		{`{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`, "1 ok", false},
		{`{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`, "2 ok or 1 failed", true},
		{`{"jsonrpc":"2.0","method":"notifications/x"}`, "- note notifications/x", true},
		{`{"jsonrpc":"2.0","method":"notifications/x"}`, "- request", false},
		{`not json`, "- note", false},
	} {
		if matches(tc.line, tc.want) != tc.ok {
			t.Errorf("%s as %q: want %v", tc.line, tc.want, tc.ok)
		}
	}
}
