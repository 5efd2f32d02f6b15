package era_test

import (
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// What a widely used SDK gets wrong on stdio, and mixtures of the two eras on
// one stream.
func TestHostileEras(t *testing.T) {
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listen := request("7", "subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://one"]}`)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	legacy := func(id, method, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
	}
	batch := "[" + legacyCall("1", "echo", `"msg":"hi"`) + "," + initialized + "]"
	rows := []row{
		{id: "cancelled listen is silent", steps: []step{
			{send: listen, want: []string{`- note "notifications/subscriptions/acknowledged"`}},
			{send: cancel, wait: time.Minute},
			{do: func(w *wire) { w.fixture.RemoveTools("big"); w.fixture.ResourceUpdated("test://one") }, wait: time.Minute},
			{send: listen, want: []string{`- note "notifications/subscriptions/acknowledged"`}},
			{do: func(w *wire) { w.fixture.ResourceUpdated("test://one") }, wait: time.Minute, want: []string{`- note "uri":"test://one"`}},
			{send: cancel},
		}},
		one("log level loud", withMeta(echo, `"io.modelcontextprotocol/logLevel":"loud"`), "1 -32602"),
		one("log level a number", withMeta(echo, `"io.modelcontextprotocol/logLevel":3`), "1 -32602"),
		one("request before initialize", legacy("1", "tools/list", ""), "1 -32602 or 1 -32600"),
		one("call before initialize", legacyCall("1", "echo", ""), "1 -32602 or 1 -32600"),
		one("setLevel before initialize", legacy("1", "logging/setLevel", `"level":"debug"`), "1 -32602 or 1 -32600"),
		one("ping before initialize", legacy("1", "ping", ""), "1 ok"),
		one("initialize without a version", legacy("1", "initialize", `"capabilities":{},"clientInfo":{"name":"p","version":"1"}`), "1 -32602"),
		one("initialize without params", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "1 -32602"),
		{id: "second initialize", legacy: mcp.Rev20251125, steps: []step{
			{send: initialize("1", mcp.Rev20241105), want: []string{"1 -32600"}},
			{send: legacyCall("2", "echo", `"msg":"hi"`), want: []string{`2 ok "text":"hi"`}},
		}},
		{id: "modern, then legacy, then modern", steps: []step{
			{send: request("1", "server/discover", ""), want: []string{`1 ok "supportedVersions":["2026-07-28"]`}},
			{send: echo, want: []string{served}},
			{do: func(w *wire) { w.initialize(mcp.Rev20250618) }},
			{send: legacyCall("2", "echo", `"msg":"hi"`), want: []string{`2 ok {"content":[{"type":"text","text":"hi"}]}`}},
			{send: toolCall("3", "echo", `"msg":"hi"`), want: []string{`3 ok "resultType":"complete"`}},
			{send: listen, want: []string{`- note "notifications/subscriptions/acknowledged"`}},
			{send: cancel},
		}},
		{id: "initialize asking 2026-07-28", steps: []step{
			{do: func(w *wire) { w.session = mcp.Rev20251125 }},
			{send: initialize("1", mcp.Rev20260728), want: []string{`1 ok "protocolVersion":"2025-11-25"`}},
		}},
		{id: "initialize asking nonsense", steps: []step{
			{do: func(w *wire) { w.session = mcp.Rev20251125 }},
			{send: initialize("1", "tomorrow"), want: []string{`1 ok "protocolVersion":"2025-11-25"`}},
		}},
		one("bad cursor", request("1", "tools/list", `"cursor":"nonsense"`), "1 -32602"),
		one("cursor a number", request("1", "tools/list", `"cursor":5`), "1 -32602"),
		one("cursor of another list", request("1", "prompts/list", `"cursor":"tool 4"`), "1 -32602"),
		one("templates", request("1", "resources/templates/list", ""), `1 ok "file:///x{/id*}"`),
		{id: "a subscription that is open at the end", steps: []step{
			{send: listen, want: []string{`- note "notifications/subscriptions/acknowledged"`}},
			{do: func(w *wire) { w.ended = `7` }},
		}},
		one("more than a page", request("1", "tools/list", ""), `1 ok "nextCursor"`),
		one("unknown tool", toolCall("1", "nothing", ""), "1 -32602"),
		one("unknown prompt", request("1", "prompts/get", `"name":"nothing"`), "1 -32602"),
		one("argument of another type", instead(`"hi"`, `5`), "1 failed"),
		one("arguments no object", request("1", "tools/call", `"name":"echo","arguments":[]`), "1 -32602 or 1 failed"),
		one("removed: ping", request("1", "ping", ""), "1 -32601"),
		one("removed: initialize", request("1", "initialize", ""), "1 -32601"),
		one("removed: logging/setLevel", request("1", "logging/setLevel", `"level":"debug"`), "1 -32601"),
		one("removed: resources/subscribe", request("1", "resources/subscribe", `"uri":"test://one"`), "1 -32601"),
		one("batch without a session", batch, "- -32600"),
		{id: "batch in 2025-03-26", legacy: mcp.Rev20250326, steps: []step{
			{send: batch, want: []string{`[1 ok "text":"hi"`}},
			{send: `[1,{"jsonrpc":"2.0","id":null,"method":"ping"}]`, want: []string{`[- -32600`, `[- -32600`}},
			{send: "[" + initialized + "]"},
			{send: `[]`, want: []string{"- -32600"}},
		}},
		{id: "cancelled in a batch", legacy: mcp.Rev20250326, steps: []step{
			{send: "[" + legacyCall("7", "sleep", `"ms":3000`) + "," + legacyCall("1", "echo", `"msg":"hi"`) + "]"},
			{send: cancel, want: []string{`[1 ok "text":"hi"`}},
			{wait: time.Minute},
		}},
		{id: "modern requests in a batch of a session", legacy: mcp.Rev20250326, steps: []step{
			{send: "[" + echo + "]", want: []string{"[1 -32600 or - -32600 or [1 ok"}},
		}},
	}
	for _, rev := range []mcp.Revision{mcp.Rev20241105, mcp.Rev20250618, mcp.Rev20251125} {
		rows = append(rows, row{id: "batch in " + string(rev), legacy: rev, steps: []step{{send: batch, want: []string{"- -32600"}}}})
	}
	for _, rev := range mcp.Revisions()[1:] {
		rows = append(rows,
			row{id: "setLevel loud in " + string(rev), legacy: rev, steps: []step{
				{send: legacy("1", "logging/setLevel", `"level":"loud"`), want: []string{"1 -32602"}},
				{send: legacy("1", "logging/setLevel", `"level":"debug"`), want: []string{"1 ok"}},
				{send: legacyCall("2", "log", ""), want: []string{`- note "data":"quiet"`, `- note "data":"loud"`, "2 ok"}},
			}},
			row{id: "errors in " + string(rev), legacy: rev, steps: []step{
				{send: legacy("1", "tools/list", `"cursor":"nonsense"`), want: []string{"1 -32602"}},
				{send: legacyCall("1", "nothing", ""), want: []string{"1 -32602"}},
				{send: legacyCall("1", "echo", `"msg":5`), want: []string{"1 failed"}},
				{send: legacyCall("1", "panic", ""), want: []string{"1 -32603"}},
				{send: legacyCall("1", "nan", ""), want: []string{"1 -32603"}},
				{send: legacyCall("1", "ask", ""), want: []string{"1 -32600"}},
				{send: legacy("1", "nonsense", ""), want: []string{"1 -32601"}},
				{send: legacy("1", "resources/read", `"uri":"test://missing"`), want: []string{"1 -32002"}},
				{send: legacy("1", "resources/subscribe", ""), want: []string{"1 -32602"}},
				{send: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, want: []string{"1 -32602"}},
				{send: "this is not json", want: []string{"- -32700"}},
			}},
			row{id: "lists in " + string(rev), legacy: rev, steps: []step{
				{send: legacy("1", "tools/list", ""), want: []string{`1 ok "nextCursor"`}},
				{send: legacy("1", "prompts/list", ""), want: []string{`1 ok`}},
				{send: legacy("1", "resources/list", ""), want: []string{`1 ok`}},
				{send: legacy("1", "resources/templates/list", ""), want: []string{`1 ok`}},
				{send: legacy("1", "resources/read", `"uri":"test://one"`), want: []string{`1 ok`}},
				{send: legacy("1", "prompts/get", `"name":"greet","arguments":{"who":"Ada"}`), want: []string{`1 ok Greet Ada`}},
				{send: legacyCall("1", "routed", `"region":"eu","shard":3`), want: []string{`1 ok`}},
				{send: legacy("1", "completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"n"}`), want: []string{`1 ok`}},
			}},
		)
	}
	runRows(t, rows)
}
