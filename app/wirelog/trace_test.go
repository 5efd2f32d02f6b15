package wirelog

import (
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

func TestFormat(t *testing.T) {
	start := time.Now()
	ms := speccheck.Check(talk(t, `HELLO(2025-11-25)
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
	noise := speccheck.Message{At: start, Kind: speccheck.KindInvalid, Dir: speccheck.FromServer, Frame: []byte("\x1b]0;gone\x07hi\r\nthere")}
	if got := Format(&noise, start, nil); strings.ContainsAny(got[:len(got)-1], "\x1b\x07\r\n") {
		t.Errorf("noise: %q", got)
	}
}
