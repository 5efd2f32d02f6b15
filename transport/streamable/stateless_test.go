package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// older is a message of an older revision without a session.
func older(body string, headers ...string) *request {
	return &request{verb: "POST", body: body, lines: append([]string{"Host: 127.0.0.1:PORT", "Content-Type: application/json", "Accept: application/json, text/event-stream"}, headers...)}
}

// A stateless server serves what needs no session, and says clearly what does.
func TestStateless(t *testing.T) {
	f := newFort(t, false, &streamable.Options{Stateless: true})
	const v = "Mcp-Protocol-Version: " + rev2025
	call := oldTool("1", "echo", `"msg":"hi"`)
	for _, c := range []struct {
		name string
		send *request
		want string // the answer in short
		says string // part of it
	}{
		{"initialize", older(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + rev2025 + `","capabilities":{"elicitation":{}},"clientInfo":{"name":"p","version":"1"}}}`), "200 1 ok", `"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}`},
		{"initialized", older(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, v), "202", ""},
		{"a call", older(call, v), "200 1 ok", "hi"},
		{"a call without a version", older(call), "200 1 ok", "hi"},
		{"a list", older(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, v), "200 1 ok", "echo"},
		{"ping", older(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, v), "200 1 ok", ""},
		{"a call that asks", older(oldTool("1", "ask", ""), v), "200 1 -32600", "needs a session"},
		{"logging/setLevel", older(setDebug, v), "200 1 -32601", "needs a session"},
		{"resources/subscribe", older(subscribe, v), "200 2 -32601", "needs a session"},
		{"a response", older(`{"jsonrpc":"2.0","id":1,"result":{}}`, v), "400 - -32600", "keeps no sessions"},
		{"GET", older("", v, "Accept: text/event-stream").method("GET"), "405 - -32600", "keeps no sessions"},
		{"DELETE", older("", v).method("DELETE"), "405 - -32600", "keeps no sessions"},
		{"a session of another server", older(call, v, "Mcp-Session-Id: abc"), "404 - -32600", "send initialize again"},
		{"two versions", older(call, v, "Mcp-Protocol-Version: 2025-06-18"), "400 1 -32020", "occurs 2 times"},
		{"the newest revision", askEcho(), "200 1 ok", "hi"},
	} {
		a := f.raw(c.send.on(f))
		if got := a.short(); got != c.want || !strings.Contains(a.Text, c.says) || a.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %s, want %s with %q: %.300s", c.name, got, c.want, c.says, a.Text)
		}
	}
	withProgress := strings.Replace(oldTool("1", "count", `"n":2,"who":"x"`), `"params":{`, `"params":{"_meta":{"progressToken":5},`, 1)
	_, e := f.listen(older(withProgress, v))
	e.expect(`"progress":1`, `"progress":2`, `"id":1,"result"`)
	for rev, want := range map[string]string{"2025-03-26": "200 ", rev2025: "400 "} {
		a := f.raw(older("["+call+`,{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":7,"result":5},`+strings.Replace(call, `"id":1`, `"id":2`, 1)+"]", "Mcp-Protocol-Version: "+rev).on(f))
		if !strings.HasPrefix(a.Response.Status, want) || want == "200 " && (strings.Count(a.Text, "hi") != 2 || strings.Contains(a.Text, "error")) {
			t.Errorf("a batch of %s: %d %s", rev, a.Status, a.Text)
		}
	}
}

// A client of an older revision that goes away has cancelled its request where
// there is no session in which to come back.
func TestStatelessDisconnectCancels(t *testing.T) {
	f := newFort(t, false, &streamable.Options{Stateless: true})
	s := f.dial()
	s.write(older(oldGated("1", "a", 3)).on(f))
	<-f.began
	s.c.Close()
	select {
	case <-f.cancelled:
	case <-time.After(time.Minute):
		t.Fatal("the call goes on")
	}
}

// Our own client uses a stateless server, also if each request reaches another
// instance.
func TestClientOfStatelessInstances(t *testing.T) {
	var instances []http.Handler
	for range 2 {
		h, err := streamable.NewHandler(newFixture(t).Server, &streamable.Options{Stateless: true, Era: era.ServerOptions{LegacyOnly: true}})
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, h)
	}
	web := newBalancer(t, instances...)
	c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 4 {
		res, err := c.CallTool(t.Context(), "echo", map[string]string{"msg": "hi"}, nil)
		if err != nil || res.Content.Text() != "hi" {
			t.Fatalf("%v, %v", res, err)
		}
	}
	if _, err := c.CallTool(t.Context(), "ask", nil, nil); err == nil || !strings.Contains(err.Error(), "needs a session") {
		t.Errorf("a tool that asks: %v", err)
	}
}

type requestKey struct{}

// Values of a request's context, and its headers, reach tools in every era; a
// call that came otherwise has no headers.
func TestRequestReachesTools(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(s, "who", "", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		value, _ := ctx.Value(requestKey{}).(string)
		return value + "+" + streamable.RequestHeader(ctx).Get("X-Tenant"), nil
	}, nil)
	for _, stateless := range []bool{false, true} {
		h, err := streamable.NewHandler(s, &streamable.Options{Stateless: stateless})
		if err != nil {
			t.Fatal(err)
		}
		at := fortOf(t, nil, h, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, "value")))
			})
		})
		requests := map[string]*request{"modern": askTool("1", "who", "").header("X-Tenant", "X-Tenant: acme")}
		if stateless {
			requests["stateless"] = older(oldTool("1", "who", ""), "X-Tenant: acme")
			requests["stateless batch"] = older("["+oldTool("1", "who", "")+"]", "X-Tenant: acme")
		} else {
			requests["legacy"] = at.enter(rev2025, "", "X-Tenant: acme")(oldTool("1", "who", ""))
			requests["batch"] = at.enter("2025-03-26", "", "X-Tenant: acme")("[" + oldTool("1", "who", "") + "]")
		}
		for name, r := range requests {
			if a := at.raw(r.on(at)); !strings.Contains(a.Text, "value+acme") {
				t.Errorf("%s: %s", name, a.Text)
			}
		}
	}
	if h := streamable.RequestHeader(context.Background()); h != nil {
		t.Errorf("without a request: %v", h)
	}
}
