package inspect

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1,"b":[1,2]}`, ` { "b" : [1, 2.0], "a" : 1 } `, ``},
		{`{"a":"\u0041"}`, `{"a":"A"}`, ``},
		{`{"a":1}`, `{"a":2}`, `/a 1 2;`},
		{`{"a":1}`, `{"b":1}`, `/a 1 -;/b - 1;`},
		{`[1,2,3]`, `[1,5]`, `/1 2 5;/2 3 -;`},
		{`[1]`, `[1,{}]`, `/1 - {};`},
		{`{"x/y~z":{"k":null}}`, `{"x/y~z":{"k":false}}`, `/x~1y~0z/k null false;`},
		{`9007199254740993`, `9007199254740992`, ` 9007199254740993 9007199254740992;`},
		{`1e2`, `100`, ``},
		{`"1"`, `1`, ` "1" 1;`},
		{`{}`, `[]`, ` {} [];`},
		{`not json`, `{}`, ` not json {};`},
		{`same`, `same`, ``},
	} {
		var got strings.Builder
		for _, d := range Diff([]byte(c.a), []byte(c.b)) {
			a, b := string(d.A), string(d.B)
			if d.A == nil {
				a = "-"
			}
			if d.B == nil {
				b = "-"
			}
			fmt.Fprintf(&got, "%s %s %s;", d.Pointer, a, b)
		}
		if got.String() != c.want {
			t.Errorf("%s and %s differ by %q, want %q", c.a, c.b, got.String(), c.want)
		}
	}
}

func TestAt(t *testing.T) {
	raw := []byte(`{"a/b":[{"~":1},2],"":3}`)
	for pointer, want := range map[string]string{"": string(raw), "/a~1b/0/~0": "1", "/a~1b/1": "2", "/": "3", "/x": "", "/a~1b/9": "", "/a~1b/-1": "", "/a~1b/1/x": ""} {
		got, ok := At(raw, pointer)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q leads to %q, %v; want %q", pointer, got, ok, want)
		}
	}
}

// Whatever a server or a person has put into a message, a shell gives it back as
// one word and runs nothing.
func TestQuotedWordsSurviveAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, s := range []string{"", "a", "a b", "'", "''", `'; echo gone; '`, "$(touch x)", "`id`", `\`, "\n", "!!", "*", "~", "-n", "é", `"$HOME"`, "a'b\"c$d`e\\f\ng"} {
		out, err := exec.Command(sh, "-c", "printf '<%s>' "+Quote(s)).Output()
		if err != nil || string(out) != "<"+s+">" {
			t.Errorf("%q became %q (%v)", s, out, err)
		}
	}
}

func TestCurlAndRaw(t *testing.T) {
	ms := Check(talk(t, `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it's","arguments":{"q":"$(x)"},META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`))
	m := ms[0]
	m.Server = "my notes"
	m.HTTP = &HTTP{URL: "https://example.org/mcp", Request: []Header{{"Authorization", "Bearer [redacted]"}, {"Mcp-Param-Q", "1"}, {"User-Agent", "x"}}}
	want := `curl -sS -N -X POST https://example.org/mcp \
  -H 'Content-Type: application/json' \
  -H 'Accept: application/json, text/event-stream' \
  -H 'MCP-Protocol-Version: 2026-07-28' \
  -H 'Mcp-Method: tools/call' \
  -H 'Mcp-Name: it'\''s' \
  -H 'Authorization: Bearer '"$MCP_TOKEN" \
  -H 'Mcp-Param-Q: 1' \
  --data-binary '` + strings.ReplaceAll(string(m.Frame), "'", `'\''`) + "'"
	if got := Curl(m, ""); got != want {
		t.Errorf("curl:\n%s\nwant\n%s", got, want)
	}
	if got, want := Raw(m), `tenon raw 'my notes' tools/call '{"name":"it'\''s","arguments":{"q":"$(x)"}}'`; got != want {
		t.Errorf("raw: %s\nwant %s", got, want)
	}
	if Curl(ms[1], "x") != "" || Raw(ms[1]) != "" {
		t.Error("an answer cannot be sent by a client")
	}
	m.Frame = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1,"mine":2}}}`)
	m.Method = "tools/list"
	if got, want := Raw(m), `tenon raw 'my notes' tools/list '{"_meta":{"mine":2}}'`; got != want {
		t.Errorf("raw: %s, want %s", got, want)
	}
}

func TestExplain(t *testing.T) {
	ms := Check(talk(t, `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":{"name":1}},"mine":1}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"},{"type":"resource","resource":{"uri":"a:b","blob":""}}]}}`))
	texts := map[string]Field{}
	for _, m := range ms[3:] {
		for _, f := range Explain(m) {
			texts[f.Pointer] = f
		}
	}
	for pointer, want := range map[string]string{
		"/method": "Has the server run", "/params/name": "The tool to run.", "/params/arguments": "arguments", "/id": "Pairs",
		"/result/content/0/text": "The text.", "/result/content/1/resource/blob": "base64", "/result/content/1/type": "together",
	} {
		if f := texts[pointer]; !strings.Contains(f.Text, want) || !f.Known || len(f.Revisions) == 0 || f.Type == "" {
			t.Errorf("%s is explained by %+v, want something with %q", pointer, f, want)
		}
	}
	if f, ok := texts["/params/mine"]; !ok || f.Known {
		t.Errorf("a member of the sender's own is explained by %+v", f)
	}
	if _, ok := texts["/params/arguments/x"]; ok {
		t.Error("arguments were gone into")
	}
	if Describe("tools/call", "") == "" || Describe("vendor/x", "") != "" || Describe("ping", mcp.Revisions()[0]) == "" {
		t.Error("methods are not described as they should be")
	}
	same := Explain(Message{Kind: KindBatch, Revision: "2025-03-26", Frame: []byte(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}]`)})
	if len(same) != 5 || same[4].Pointer != "/0/params/name" {
		t.Errorf("a batch is explained by %+v", same)
	}
}

func TestFormat(t *testing.T) {
	start := time.Now()
	ms := Check(talk(t, `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":7,"result":{"content":7}}`))
	for i := range ms {
		ms[i].At = start.Add(time.Duration(i) * time.Millisecond)
	}
	ms[4].Duration = 1500 * time.Microsecond
	if got, want := Format(&ms[4], start, nil), "+0.004s ← legacy tools/call a #7 1.5ms {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":7}}\n        ! shape.type /result/content: this must be an array, and is 7\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Format(&ms[4], start, &TraceOptions{Pretty: true}); !strings.Contains(got, "\n          \"id\": 7,\n") {
		t.Errorf("pretty: %s", got)
	}
	if got := Format(&ms[3], start, &TraceOptions{MaxBytes: 10}); strings.Contains(got, "\x1b") || !strings.Contains(got, "more bytes") {
		t.Errorf("cut: %q", got)
	}
	if got := Format(&ms[3], start, &TraceOptions{Colour: true}); strings.Count(got, "\x1b[31m") != 0 || !strings.Contains(got, "\x1b[36m→") {
		t.Errorf("colour: %q", got)
	}
	ms[3].Tool, ms[3].Method = "a\x1b[31mred", "x\r\x1b[2J"
	if got := Format(&ms[3], start, &TraceOptions{Pretty: true, Servers: true}); strings.ContainsAny(got, "\x1b\r") {
		t.Errorf("what a server says reaches the terminal: %q", got)
	}
	noise := Message{At: start, Kind: KindInvalid, Dir: FromServer, Frame: []byte("\x1b]0;gone\x07hi\r\nthere")}
	if got := Format(&noise, start, nil); strings.ContainsAny(got[:len(got)-1], "\x1b\x07\r\n") {
		t.Errorf("noise: %q", got)
	}
}
