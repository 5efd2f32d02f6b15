package wirelog

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

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
	ms := speccheck.Check(talk(t, `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it's","arguments":{"q":"$(x)"},META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`))
	m := ms[0]
	m.Server = "my notes"
	m.HTTP = &speccheck.HTTP{URL: "https://example.org/mcp", Request: []speccheck.Header{{Name: "Authorization", Value: "Bearer [redacted]"}, {Name: "Mcp-Param-Q", Value: "1"}, {Name: "User-Agent", Value: "x"}}}
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
