package streamable_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// One revision knows batches; each request in one is answered, and nothing
// comes of one that asks for nothing.
func TestBatch(t *testing.T) {
	h := newHouse(t, tools{"quick": func(context.Context, *mcp.Call) (string, error) { return "done", nil }}, nil)
	old, later := h.session(mcp.Rev20250326), h.session(mcp.Rev20250618)
	newest, newestHeaders := newTool("1", "quick", "{}")
	for _, c := range []struct {
		name, body string
		headers    []string
		status     int
		want       []string // parts of the answer
	}{
		{"two calls", "[" + tool("1", "quick") + "," + tool("2", "quick") + "]", old, 200, []string{`[{`, `"id":1,"result"`, `"id":2,"result"`}},
		{"a call and a note", `[{"jsonrpc":"2.0","method":"notifications/x"},` + tool(`"a"`, "quick") + "]", old, 200, []string{`[{`, `"id":"a","result"`}},
		{"only a note", `[{"jsonrpc":"2.0","method":"notifications/x"}]`, old, 202, nil},
		{"a bad one among good ones", "[" + tool("1", "quick") + `,{"jsonrpc":"1.0","id":2,"method":"x"}]`, old, 200, []string{`"id":1,"result"`, `-32600`}},
		{"initialize", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]`, old, 200, []string{`-32600`}},
		{"a malformed notification", `[{"jsonrpc":"2.0","method":"notifications/x","params":5}]`, old, 202, nil},
		{"a malformed response", `[{"jsonrpc":"2.0","id":7,"result":5},{"jsonrpc":"2.0","id":8,"error":{}},{"jsonrpc":"2.0","result":{}}]`, old, 202, nil},
		{"a malformed request", `[{"jsonrpc":"2.0","id":7,"method":"x","params":5},{"jsonrpc":"2.0","id":null,"method":"x"},5]`, old, 200, []string{`[{`, `"id":7,"error":{"code":-32602`, `{"jsonrpc":"2.0","error":{"code":-32600`}},
		{"empty", `[]`, old, 400, []string{`-32600`}},
		{"later revision", "[" + tool("1", "quick") + "]", later, 400, []string{`-32600`}},
		{"newest revision", "[" + newest + "]", newestHeaders, 400, []string{`-32600`}},
		{"no session", "[" + tool("1", "quick") + "]", nil, 400, []string{`-32600`}},
	} {
		res := h.send("POST", c.body, c.headers...)
		text := h.text(res)
		if res.StatusCode != c.status || c.want == nil && text != "" {
			t.Errorf("%s: %s %q", c.name, res.Status, text)
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q has no %q", c.name, text, part)
			}
		}
	}
}

// Who leaves a batch has cancelled nothing, and may come back for the answers.
func TestBatchIsLeft(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter("2025-03-26", "")
	s := f.dial()
	s.write(in("[" + oldGated("1", "a", 2) + "," + oldTool("2", "echo", `"msg":"hi"`) + "]").on(f))
	<-f.began
	f.gate <- true
	e := hear(t, s.head().Body)
	e.expect(`"progress":1`)
	s.c.Close()
	f.gate <- true
	_, back := f.listen(in("").header("Last-Event-ID", "Last-Event-ID: "+e.last))
	back.expect(`"progress":2`, `[{"jsonrpc":"2.0","id":1,"result"`)
	if rest := back.next(); rest != "" {
		t.Errorf("after the answers came %q", rest)
	}
	// One that is cancelled is not answered; the rest is.
	s = f.dial()
	s.write(in("[" + oldGated("3", "b", 1) + "," + oldTool("4", "echo", `"msg":"hi"`) + "]").on(f))
	<-f.began
	f.raw(in(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`).on(f))
	if a := s.read(); strings.Contains(a.Text, `"id":3`) || !strings.Contains(a.Text, `"id":4,"result"`) {
		t.Errorf("the answer to the rest: %s", a.Text)
	}
}
