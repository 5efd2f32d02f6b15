package era_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// meta is the envelope of a client without capabilities.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// request is a modern request; params are the members of an object.
func request(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + meta + `}}`
}

func toolCall(id, name, args string) string {
	return request(id, "tools/call", `"name":"`+name+`","arguments":{`+args+`}`)
}

func legacyCall(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":{` + args + `}}}`
}

// echo is a good request under the id 1.
var echo = toolCall("1", "echo", `"msg":"hi"`)

// instead returns a good request in which something else stands.
func instead(old, now string) string {
	if strings.Count(echo, old) != 1 {
		panic(fmt.Sprintf("%q does not stand once in %s", old, echo))
	}
	return strings.Replace(echo, old, now, 1)
}

const served = `1 ok "text":"hi"`

// one is a row of one step.
func one(id, send string, want ...string) row {
	return row{id: id, steps: []step{{send: send, want: want}}}
}

// id is a row in which a good request has this id and is served.
func id(raw string) row {
	return one(fmt.Sprintf("id %.12s (%d bytes)", raw, len(raw)), instead(`"id":1`, `"id":`+raw), raw+" ok")
}

func TestHostileWire(t *testing.T) {
	names := func(n int) string {
		var b []byte
		for i := range n {
			b = fmt.Appendf(b, `"%08x":0,`, i)
		}
		return string(b)
	}
	rows := []row{
		one("W02 not JSON", "this is not json\n"+echo, "- -32700", served),
		one("W04 CRLF", echo+"\r", served),
		one("W04 white space around", "  \t"+echo+"  ", served),
		one("W04 empty lines", "\n\r\n"+echo, served),
		one("W06 line break inside", `{"jsonrpc":"2.0",`+"\n"+`"id":1,"method":"server/discover"}`, "- -32700", "- -32700"),
		one("W08 two on one line", echo+instead(`"id":1`, `"id":2`), "- -32700"),
		one("W10 invalid UTF-8", instead(`"hi"`, "\"\xff\xfe\""), "- -32700"),
		one("W10 overlong UTF-8", instead(`"hi"`, "\"\xc0\xaf\""), "- -32700"),
		one("W10 half a surrogate pair", instead(`"hi"`, `"\ud800"`), "- -32700"),
		one("W12 raw NUL", instead(`"hi"`, "\"a\x00b\""), "- -32700"),
		one("W14 empty array", `[]`, "- -32600"),
		one("W16 id null", instead(`"id":1`, `"id":null`), "- -32600"),
		one("W18 id 1.5", instead(`"id":1`, `"id":1.5`), "- -32600"),
		one("W18 id 1.0", instead(`"id":1`, `"id":1.0`), "- -32600"),
		one("W20 id 1e400", instead(`"id":1`, `"id":1e400`), "- -32600 or - -32700"),
		one("W20 id true", instead(`"id":1`, `"id":true`), "- -32600"),
		one("W20 id an object", instead(`"id":1`, `"id":{}`), "- -32600"),
		one("W20 id too long", instead(`"id":1`, `"id":"`+strings.Repeat("a", 1<<10)+`"`), "- -32600"),
		one("W22 id empty", instead(`"id":1`, `"id":""`), `"" ok`),
		id("0"), id("-7"), id("-0"), id("9223372036854775808"), id("123456789012345678901234567890"),
		id(`"1"`), id(`"\u0041\/"`), id(`"日本"`), id(`"` + strings.Repeat("a", 1<<10-2) + `"`),
		one("W24 jsonrpc 1.0", instead(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`), "1 -32600"),
		one("W24 jsonrpc a number", instead(`"jsonrpc":"2.0"`, `"jsonrpc":2.0`), "1 -32600"),
		one("W24 jsonrpc missing", instead(`"jsonrpc":"2.0",`, ``), "1 -32600"),
		one("W26 another case", instead(`"name":"echo"`, `"name":"echo","Name":"admin"`), served),
		one("W26 twice", instead(`"name":"echo"`, `"name":"echo","name":"admin"`), "- -32700"),
		one("W26 twice, escaped", instead(`"name":"echo"`, `"name":"echo","n\u0061me":"admin"`), "- -32700"),
		one("W26 method twice", instead(`"method":"tools/call"`, `"method":"tools/call","Method":"tools/list"`), served),
		one("W28 NUL in a name", instead(`"name":"echo"`, `"name":"echo","name\u0000":"admin"`), served),
		one("W30 params an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, "1 -32602"),
		one("W30 params a string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`, "1 -32602"),
		one("W30 params a number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`, "1 -32602"),
		one("W30 params null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, "1 -32602"),
		one("W32 nested deeply", instead(`"hi"`, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), "- -32700"),
		one("W32 nested and never closed", strings.Repeat("[", 20_000), "- -32700 or - -32600"),
		one("W32 nested objects", instead(`"hi"`, strings.Repeat(`{"a":`, 600)+"1"+strings.Repeat("}", 600)), "- -32700"),
		{id: "W34 a million names in params", heavy: true, steps: []step{
			{send: instead(`"name":"echo"`, names(1_000_000)+`"name":"echo"`), want: []string{served}},
		}},
		{id: "W34 many names in arguments", heavy: true, steps: []step{
			{send: instead(`"msg":"hi"`, names(200_000)+`"msg":"hi"`), want: []string{"1 failed or 1 -32600 or 1 -32602"}, look: shorterThan(64 << 10)},
		}},
		{id: "W34 many names in _meta", heavy: true, steps: []step{
			{send: instead(`"_meta":{`, `"_meta":{`+names(200_000)), want: []string{served}},
		}},
		one("W36 1e309", toolCall("1", "sleep", `"ms":1e309`), "1 failed or 1 -32602"),
		one("W36 NaN", toolCall("1", "sleep", `"ms":NaN`), "- -32700"),
		one("W36 Infinity", toolCall("1", "sleep", `"ms":Infinity`), "- -32700"),
		one("W36 -Infinity", toolCall("1", "sleep", `"ms":-Infinity`), "- -32700"),
		one("W36 many digits", toolCall("1", "strict", `"n":`+strings.Repeat("9", 100_000)), "1 failed or 1 -32602"),
		one("W36 huge exponent", toolCall("1", "strict", `"n":1e999999999`), "1 failed or 1 -32602"),
		{id: "W38 a line that is too long", heavy: true, steps: []step{
			{send: strings.Repeat("x", 16<<20+1) + "\n" + echo, want: []string{"- -32600 too large", served}},
		}},
		{id: "W38 a good request that is too long", limit: 1 << 10, steps: []step{
			{send: instead(`"hi"`, `"`+strings.Repeat("x", 1<<10)+`"`) + "\n" + echo, want: []string{"1 -32600 too large", served}},
		}},
		one("W40 an answer to nothing", `{"jsonrpc":"2.0","id":77,"result":{}}`),
		one("W40 an error to nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`),
		one("W40 a malformed answer", `{"jsonrpc":"2.0","id":77,"result":5}`),
		one("W40 request and answer at once", instead(`"id":1`, `"id":1,"result":{}`), "1 -32600"),
		one("W42 malformed notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}`),
		one("W42 cancelled without an id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`),
		one("W42 cancelled, unknown id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`),
		one("W42 cancelled, odd id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}}`),
		one("W42 unknown notification", `{"jsonrpc":"2.0","method":"notifications/nonsense","params":{}}`),
		one("W42 a request's method as a notification", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"admin",`+meta+`}}`),
		cancelSleep("W44 cancel in flight", "", toolCall("5", "sleep", `"ms":3000`), "5"),
		cancelSleep("W44 cancel in flight, id a string", "", toolCall(`"a"`, "sleep", `"ms":3000`), `"\u0061"`),
		cancelSleep("W44 cancel in flight, 2024-11-05", mcp.Rev20241105, legacyCall("5", "sleep", `"ms":3000`), "5"),
		cancelSleep("W44 cancel in flight, 2025-11-25", mcp.Rev20251125, legacyCall("5", "sleep", `"ms":3000`), "5"),
		one("an id twice at once", toolCall("5", "sleep", `"ms":50`)+"\n"+toolCall("5", "echo", ``), "5 -32600"),
		one("unknown method", request("1", "tools/steal", ""), "1 -32601"),
		one("empty method", request("1", "", ""), "1 -32600"),
		one("neither method nor answer", `{"jsonrpc":"2.0","id":1}`, "1 -32600"),
		one("a bare number", `5`, "- -32600"),
		one("a bare string", `"x"`, "- -32600"),
		one("a byte order mark", "\xef\xbb\xbf"+echo, "- -32700"),
		one("a panic", toolCall("1", "panic", ""), "1 -32603"),
		one("a big answer", toolCall("1", "big", `"n":5000000`), "1 ok"),
	}
	for _, odd := range []string{"__proto__", "constructor", "toString"} {
		rows = append(rows,
			one("W46 tool "+odd, toolCall("1", odd, ""), "1 -32602"),
			one("W46 argument "+odd, instead(`"msg":"hi"`, `"`+odd+`":{"x":1}`), "1 failed"),
			one("W46 cursor "+odd, request("1", "tools/list", `"cursor":"`+odd+`"`), "1 -32602"),
			one("W46 prompt "+odd, request("1", "prompts/get", `"name":"`+odd+`"`), "1 -32602"),
		)
	}
	for i := range rows {
		if rows[i].id == "an id twice at once" {
			rows[i].steps = append(rows[i].steps, step{wait: time.Second, want: []string{"5 ok DONE"}})
		}
	}
	runRows(t, rows)
}

// cancelSleep cancels a sleep that runs: its handler hears of it at once, and
// nothing more is said of it, whatever it says.
func cancelSleep(id string, rev mcp.Revision, call, requestID string) row {
	return row{id: id, legacy: rev, steps: []step{
		{send: call},
		{send: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + requestID + `}}`},
		{do: func(w *wire) {
			if n := w.fixture.cancelled.Load(); n != 1 {
				w.t.Errorf("%d sleeps were cancelled", n)
			}
		}},
		{wait: 10 * time.Second, do: func(w *wire) {
			if n := w.fixture.done.Load(); n != 0 {
				w.t.Error("the sleep went on")
			}
		}},
	}}
}

func shorterThan(limit int) func(*testing.T, []string) {
	return func(t *testing.T, lines []string) {
		for _, line := range lines {
			if len(line) > limit {
				t.Errorf("the answer has %d bytes", len(line))
			}
		}
	}
}
