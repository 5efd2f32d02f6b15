package streamable_test

import (
	"strings"
	"testing"
)

// The rows of the table about the wire and about _meta, as HTTP tells them:
// with a status, and the id wherever it could be read.
func TestHostileMessages(t *testing.T) {
	const good, parse, invalid, params = "200 1 ok", "400 - -32700", "400 - -32600", "400 1 -32602"
	echo := askEcho
	body := func(text string) *request { return askEcho().whole(text) }
	id := func(raw string) *request { return askEcho().swap(`"id":1`, `"id":`+raw) }
	say := func(raw string) *request { return askEcho().swap(`"hi"`, raw) }
	meta := func(member string) *request { return askEcho().swap(`"_meta":{`, `"_meta":{`+member+`,`) }
	const version, capabilities = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
	rows := []hostileRow{
		{"W02 not JSON", body("this is not json"), parse, "", ""},
		{"W02 empty", body(""), parse, "", ""},
		{"W04 white space around", body(" \r\n\t" + echo().body + "\r\n"), good, "", ""},
		{"W06 line break inside", body(strings.Replace(echo().body, ",", ",\n", 1)), good, "", ""},
		{"W08 two in one body", body(echo().body + echo().body), parse, "", ""},
		{"W10 invalid UTF-8", say("\"\xff\xfe\""), parse, "", ""},
		{"W10 overlong UTF-8", say("\"\xc0\xaf\""), parse, "", ""},
		{"W10 half a surrogate pair", say(`"\ud800"`), parse, "", ""},
		{"W12 raw NUL", say("\"a\x00b\""), parse, "", ""},
		{"W14 empty array", body("[]"), invalid, "", ""},
		{"W14 batch", body("[" + echo().body + "]"), invalid, "", ""},
		{"W16 id null", id("null"), invalid, "", ""},
		{"W18 id 1.5", id("1.5"), invalid, "", ""},
		{"W20 id 1e400", id("1e400"), invalid + " or " + parse, "", ""},
		{"W20 id an object", id("{}"), invalid, "", ""},
		{"W20 id too long", id(`"` + strings.Repeat("a", 1<<10) + `"`), invalid, "", ""},
		{"W22 id empty", id(`""`), `200 "" ok`, "", ""},
		{"W22 id large", id("123456789012345678901234567890"), "200 123456789012345678901234567890 ok", "", ""},
		{"W22 id escaped", id(`"\u0041\/"`), `200 "\u0041\/" ok`, "", ""},
		{"W24 jsonrpc 1.0", echo().swap(`"2.0"`, `"1.0"`), "400 1 -32600", "", ""},
		{"W24 jsonrpc a number", echo().swap(`"2.0"`, `2.0`), "400 1 -32600", "", ""},
		{"W24 jsonrpc missing", echo().swap(`"jsonrpc":"2.0",`, ``), "400 1 -32600", "", ""},
		{"W26 another case", echo().swap(`"name":"echo"`, `"name":"echo","Name":"admin"`), good, "", `"text":"hi"`},
		{"W26 twice", echo().swap(`"name":"echo"`, `"name":"echo","name":"admin"`), parse, "", ""},
		{"W26 twice, escaped", echo().swap(`"name":"echo"`, `"name":"echo","n\u0061me":"admin"`), parse, "", ""},
		{"W28 NUL in a name", echo().swap(`"name":"echo"`, `"name":"echo","name\u0000":"admin"`), good, "", `"text":"hi"`},
		{"W30 params an array", body(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`), params + " or 400 1 -32020", "", ""},
		{"W30 params a string", body(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`), params + " or 400 1 -32020", "", ""},
		{"W32 nested deeply", say(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), parse, "", ""},
		{"W32 never closed", body(strings.Repeat("[", 20_000)), parse + " or " + invalid, "", ""},
		{"W36 1e309", askTool("1", "strict", `"n":1e309`), "200 1 failed or " + params, "", ""},
		{"W36 NaN", askTool("1", "strict", `"n":NaN`), parse, "", ""},
		{"W36 Infinity", askTool("1", "strict", `"n":-Infinity`), parse, "", ""},
		{"W36 many digits", askTool("1", "strict", `"n":`+strings.Repeat("9", 100_000)), "200 1 failed or " + params, "", ""},
		{"W38 too large", say(`"` + strings.Repeat("x", 4<<20) + `"`), "413 - -32600", "", "4194304"},
		{"W40 an answer to nothing", body(`{"jsonrpc":"2.0","id":77,"result":{}}`), invalid, invalid, ""},
		{"W40 request and answer at once", echo().swap(`"id":1`, `"id":1,"result":{}`), "400 1 -32600", "", ""},
		{"W42 malformed notification", body(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}`), "400 - -32602", "", ""},
		{"W42 a call as a notification", echo().swap(`"id":1,`, ``).swap(`"name":"echo"`, `"name":"admin"`), "202", "", ""},
		{"W46 tool", askTool("1", "__proto__", ""), params, "", ""},
		{"W46 argument", askTool("1", "echo", `"constructor":{}`), "200 1 failed", "", ""},
		{"W46 cursor", ask("1", "tools/list", "", `"cursor":"toString"`), params, "", ""},
		{"a byte order mark", body("\xef\xbb\xbf" + echo().body), parse, "", ""},
		{"a panic", askTool("1", "panic", ""), "200 1 -32603", "", ""},
		{"M02 no capabilities", echo().swap(`,`+capabilities, ``), params, "", "clientCapabilities"},
		{"M02 no version", echo().swap(version+`,`, ``), params, "", "protocolVersion"},
		{"M02 no _meta", echo().swap(`,`+modernMeta, ``), params, "", "_meta"},
		{"M02 _meta empty", echo().swap(modernMeta, `"_meta":{}`), params, "", ""},
		{"M04 version a number", echo().swap(version, `"io.modelcontextprotocol/protocolVersion":5`), params, "", ""},
		{"M04 capabilities an array", echo().swap(capabilities, `"io.modelcontextprotocol/clientCapabilities":[]`), params, "", ""},
		{"M04 progress token an object", meta(`"progressToken":{}`), params, "", ""},
		{"M06 unknown version", echo().header("MCP-Protocol-Version", "MCP-Protocol-Version: 2099-01-01").swap("2026-07-28", "2099-01-01"), "400 1 -32022", "", `"2026-07-28"`},
		{"M06 unknown version in the body only", echo().swap("2026-07-28", "2099-01-01"), "400 1 -32020", "", ""},
		{"M08 elicitation not declared", askTool("1", "ask", ""), "400 1 -32021", "", `"requiredCapabilities":{"elicitation":{}}`},
		{"M08 elicitation declared", askTool("1", "ask", "").swap(capabilities, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`), "200 1 asks", "", "First name?"},
		{"M10 no log level", askTool("1", "log", ""), good, "", `{"jsonrpc":"2.0","id":1,`},
		{"M10 log level", askTool("1", "log", "").swap(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"info",`), good, "", `"loud"`},
		{"M16 initialize", body(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`).header("Mcp-Method").header("Mcp-Name").header("MCP-Protocol-Version"), "400 1 -32022", good, ""},
		{"M18 missing resource", ask("1", "resources/read", "test://missing", `"uri":"test://missing"`), params, "", ""},
		{"M20 completing a megabyte", ask("1", "completion/complete", "", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"`+strings.Repeat("a", 1<<20)+`"}`), good, "", `"n99"`},
		{"M22 arguments that do not fit", askTool("1", "strict", `"n":77`), "200 1 failed", "", ""},
		{"M24 nil", askTool("1", "none", ""), "200 1 -32603", "", ""},
		{"M24 NaN", askTool("1", "nan", ""), "200 1 -32603", "", ""},
		{"M24 a resource that fails", ask("1", "resources/read", "test://broken", `"uri":"test://broken"`), "200 1 -32603", "", ""},
		{"M32 an answer to nothing", askTool("1", "echo", `"msg":"hi"`).swap(`"name":"echo"`, `"name":"echo","inputResponses":{"other":{"action":"accept"}}`), good, "", ""},
		{"M34 100 000 URIs", ask("1", "subscriptions/listen", "", `"notifications":{"resourceSubscriptions":[`+strings.TrimSuffix(strings.Repeat(`"test://one",`, 100_000), ",")+`]}`), params, "", ""},
		{"M36 listen without a filter", ask("1", "subscriptions/listen", "", ""), params, "", ""},
		{"M38 path template", ask("1", "resources/read", "file:///x/"+strings.Repeat(",", 50_000)+"!", `"uri":"file:///x/`+strings.Repeat(",", 50_000)+`!"`), good + " or " + params, "", ""},
		{"M38 query template", ask("1", "resources/read", "test://tagged?tags="+strings.Repeat(",", 50_000)+"!", `"uri":"test://tagged?tags=`+strings.Repeat(",", 50_000)+`!"`), good + " or " + params, "", ""},
		{"M40 tasks/get", ask("1", "tasks/get", "t", `"taskId":"t"`), "404 1 -32601", "", ""},
	}
	runHostile(t, rows)
}
