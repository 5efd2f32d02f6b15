package speccheck_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// TestOutcomes: a request has the outcome of the message that ends it (P3).
func TestOutcomes(t *testing.T) {
	const (
		call   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
		cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		result = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	)
	for name, c := range map[string]struct {
		sent, received []string
		want           string // outcome and code of the request
	}{
		"open":                      {[]string{call}, nil, " 0"},
		"a result":                  {[]string{call}, []string{result}, "ok 0"},
		"a failed tool":             {[]string{call}, []string{`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`}, "failed 0"},
		"isError elsewhere":         {[]string{`{"jsonrpc":"2.0","id":1,"method":"x/y"}`}, []string{`{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`}, "ok 0"},
		"an error":                  {[]string{call}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`}, "error -32602"},
		"input required":            {[]string{call}, []string{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}`}, "input 0"},
		"cancelled":                 {[]string{call, cancel}, nil, "cancelled 0"},
		"cancelled and answered":    {[]string{call, cancel}, []string{result}, "cancelled 0"},
		"an answer to another":      {[]string{call}, []string{`{"jsonrpc":"2.0","id":2,"result":{}}`}, " 0"},
		"a batch of results":        {[]string{call}, []string{`[` + result + `]`}, "ok 0"},
		"a batch, one of them good": {[]string{call}, []string{`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}]`}, "error -32000"},
	} {
		at := time.Unix(1, 0)
		var ms []speccheck.Message
		add := func(d speccheck.Dir, frames []string) {
			for _, f := range frames {
				at = at.Add(time.Second)
				ms = append(ms, speccheck.Message{At: at, Dir: d, Frame: []byte(f)})
			}
		}
		add(speccheck.ToServer, c.sent)
		add(speccheck.FromServer, c.received)
		out := speccheck.Check(ms)
		if got := fmt.Sprint(out[0].Outcome, " ", out[0].Code); got != c.want {
			t.Errorf("%s: the request ended with %q, want %q", name, got, c.want)
		}
		if c.want != " 0" && out[0].Took == 0 {
			t.Errorf("%s: the request took no time", name)
		}
	}
}
