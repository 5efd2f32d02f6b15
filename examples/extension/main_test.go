package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

// able is a client that supports the extension.
var able = mcp.Caller{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{extensionID: json.RawMessage("{}")}}}

func serve(t *testing.T, h mcp.Handler, method, params string) mcp.Result {
	t.Helper()
	res, err := h.Serve(t.Context(), &mcp.Call{Method: method, Params: json.RawMessage(params), Caller: able})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func connect(t *testing.T, rev mcp.Revision) mcp.Handler {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return mcptest.Connect(t, s, rev)
}

func TestCapabilityInEveryRevision(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			var d mcp.Discovery
			res := serve(t, connect(t, rev), mcp.MethodDiscover, `{}`)
			if err := res.Decode(&d); err != nil {
				t.Fatal(err)
			}
			if got := string(d.Capabilities.Extensions[extensionID]); got != `{"maxSeconds":3600}` {
				t.Errorf("the server declares %q", got)
			}
		})
	}
}

// TestModern uses all parts of the extension.
func TestModern(t *testing.T) {
	h := connect(t, mcp.Revisions()[0])
	res := serve(t, h, mcp.MethodToolsCall, `{"name":"launch","arguments":{"seconds":1}}`)
	var d countdown
	if err := res.Decode(&d); err != nil || res.Type != resultType || d.ID == "" {
		t.Fatalf("type %q, body %s, error %v", res.Type, res.Body, err)
	}
	if got := serve(t, h, methodGet, `{"id":"`+d.ID+`"}`); !strings.Contains(string(got.Body), d.ID) {
		t.Errorf("%s returned %s", methodGet, got.Body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen []string
	_, err := h.Serve(ctx, &mcp.Call{
		Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"countdowns":["` + d.ID + `","unknown"]}}`), Caller: able,
		OnNotification: func(n mcp.Notification) {
			seen = append(seen, n.Method+" "+string(n.Params))
			if n.Method == notification {
				cancel()
			}
		},
	})
	if len(seen) != 2 || !strings.Contains(seen[0], `["`+d.ID+`"]`) || !strings.Contains(seen[1], d.ID) {
		t.Errorf("notifications %q, error %v; want the acknowledgement of one countdown and its end", seen, err)
	}
}

// TestWithoutTheExtension calls the tool as a client that does not support it.
func TestWithoutTheExtension(t *testing.T) {
	h := connect(t, mcp.Revisions()[0])
	res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"launch","arguments":{"seconds":0}}`), Caller: mcp.Caller{Capabilities: &mcp.ClientCapabilities{}}})
	if err != nil || res.Type != "" || !strings.Contains(string(res.Body), "launched") {
		t.Errorf("type %q, body %s, error %v", res.Type, res.Body, err)
	}
}

// TestLegacy calls the tool as a client of each older revision that supports the
// extension: it gets a text, and the notification without a subscription.
func TestLegacy(t *testing.T) {
	for _, rev := range mcp.Revisions()[1:] {
		t.Run(string(rev), func(t *testing.T) {
			s, err := newServer()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			notified := make(chan mcp.Notification, 1)
			h := mcptest.ConnectAs(t, s, rev, &mcp.ClientProfile{
				Client: mcp.Implementation{Name: "test", Version: "1"}, Capabilities: *able.Capabilities,
				OnNotification: func(n mcp.Notification) { notified <- n },
			})
			res := serve(t, h, mcp.MethodToolsCall, `{"name":"launch","arguments":{"seconds":0}}`)
			if !strings.Contains(string(res.Body), "countdown c1 has begun") {
				t.Errorf("result %s", res.Body)
			}
			if got := serve(t, h, methodGet, `{"id":"c1"}`); !strings.Contains(string(got.Body), "c1") {
				t.Errorf("%s returned %s", methodGet, got.Body)
			}
			select {
			case n := <-notified:
				if n.Method != notification || !strings.Contains(string(n.Params), "c1") {
					t.Errorf("notification %s %s", n.Method, n.Params)
				}
			case <-time.After(time.Minute):
				t.Error("no notification")
			}
		})
	}
}
