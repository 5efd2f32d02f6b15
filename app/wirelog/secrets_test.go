package wirelog

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// H12: readers of a log, such as the page, get no secret: neither one that has a
// telling name nor one that is known, also if it becomes known later.
func TestLogReadersGetNoSecrets(t *testing.T) {
	known := redact.New("known-secret-1")
	log := NewLog(&LogOptions{Secrets: known})
	w := log.Wire("x")
	w.Frame(jsonrpc.Out, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"password":"hunter2","note":"known-secret-1","later":"typed-secret-2","n":1.0}}}`))
	w.Stderr("token=abc123 known-secret-1 typed-secret-2")
	read := func() string {
		t.Helper()
		var all strings.Builder
		since, _ := log.Since(0, 0)
		filtered, _ := log.Filter(Query{}, 0, 0)
		for _, m := range append(since, filtered...) {
			one, _ := log.Get(m.Seq)
			all.WriteString(string(m.Frame) + string(one.Frame) + Raw(m) + Curl(m, "https://h/"))
		}
		return all.String()
	}
	if text := read(); strings.Contains(text, "hunter2") || strings.Contains(text, "known-secret-1") || strings.Contains(text, "abc123") || !strings.Contains(text, "typed-secret-2") || !strings.Contains(text, `"n":1.0`) {
		t.Errorf("readers get %s", text)
	}
	known.Add("x", "typed-secret-2")
	if text := read(); strings.Contains(text, "typed-secret-2") {
		t.Errorf("readers get %s", text)
	}
	if found, _ := log.Filter(Query{Text: "hunter2"}, 0, 0); len(found) != 0 {
		t.Error("a secret can be searched for")
	}
}
