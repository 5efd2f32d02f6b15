package streamable_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// L25: streams of both eras count against one limit for each principal and one
// for all; the error names the limit, and a stream that ends makes room.
func TestSubscriptionsAreBounded(t *testing.T) {
	o := streamable.Options{Principal: func(r *http.Request) *mcp.Principal {
		return &mcp.Principal{ID: r.Header.Get("X-User")}
	}}
	o.Era.MaxSubscriptionsPerClient, o.Era.MaxSubscriptions = 2, 3
	f := newFort(t, false, &o)
	listen := func(who string) *request {
		return ask("1", "subscriptions/listen", "", listenTools).header("X-User", "X-User: "+who)
	}
	in := f.enter(rev2025, "", "X-User: ada")
	first, e := f.listen(listen("ada"))
	e.expect("subscriptions/acknowledged")
	f.listen(in(""))
	for name, r := range map[string]*request{"listen": listen("ada"), "GET": in("")} {
		a := f.raw(r.on(f))
		if a.Status != 429 || a.Header.Get("Retry-After") == "" || !strings.Contains(a.Text, "this client has 2 open, the limit; end one") {
			t.Errorf("%s: %d %s", name, a.Status, a.Text)
		}
	}
	f.listen(listen("bob"))
	if a := f.raw(listen("cy").on(f)); a.Status != 429 || !strings.Contains(a.Text, "this server has 3 open") {
		t.Errorf("in all: %d %s", a.Status, a.Text)
	}
	first.c.Close()
	waitFor(t, "there is room", func() bool {
		s := f.dial()
		defer s.c.Close()
		s.write(listen("cy").on(f))
		return s.head().Status == 200
	})
}
