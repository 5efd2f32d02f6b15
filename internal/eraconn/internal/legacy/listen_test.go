package legacy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// listening starts a subscription; its notes go to the returned slice.
func (w *wire) listening(ctx context.Context, filter string) (chan outcome, *[]string) {
	heard := new([]string)
	c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: raw(`{"notifications":` + filter + `}`)}
	c.OnNotification = func(n mcp.Notification) {
		*heard = append(*heard, strings.TrimPrefix(n.Method, "notifications/")+string(n.Params))
	}
	return w.start(ctx, c), heard
}

// grant answers the requests that came with empty results and returns their
// methods and uris.
func (w *wire) grant() (asked []string) {
	for _, f := range w.take() {
		m := message(w.t, f)
		asked = append(asked, strings.TrimPrefix(m.Method, "resources/")+string(m.Params))
		w.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)
	}
	return asked
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestListening(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}}`)
		first, stop := context.WithCancel(t.Context())
		done, heard := w.listening(first, `{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"],"x/y":{}}`)
		expect(t, "nothing is acknowledged before the server agrees", *heard)
		expect(t, "asked", w.grant(), `subscribe{"uri":"a:b"}`)
		second, heardToo := w.listening(t.Context(), `{"resourceSubscriptions":["a:b"]}`)
		expect(t, "a resource that is watched", w.grant())
		w.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`,
			`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","_meta":{"`+mcp.MetaSubscriptionID+`":5}}}`,
			`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"c:d"}}`)
		expect(t, "heard", *heard, `subscriptions/acknowledged{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}`, `tools/list_changed`, `resources/updated{"uri":"a:b"}`)
		expect(t, "heard too", *heardToo, `subscriptions/acknowledged{"notifications":{"resourceSubscriptions":["a:b"]}}`, `resources/updated{"uri":"a:b"}`)
		if len(w.heard) != 2 { // of the prompts, and of c:d
			t.Errorf("the persona heard %v", w.heard)
		}
		stop()
		if o := <-done; !errors.Is(o.err, context.Canceled) {
			t.Error(o.err)
		}
		expect(t, "still watched", w.grant())
		w.far.Close()
		closed := (*jsonrpc.ClosedError)(nil)
		if o := <-second; !errors.As(o.err, &closed) {
			t.Errorf("a lost connection ended the subscription with %v", o.err)
		}
		w.end()
	})
}

func TestLastOneUnsubscribes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		ctx, stop := context.WithCancel(t.Context())
		done, _ := w.listening(ctx, `{"resourceSubscriptions":["a:b","a:b","c:d"]}`)
		expect(t, "asked", w.grant(), `subscribe{"uri":"a:b"}`)
		expect(t, "asked", w.grant(), `subscribe{"uri":"c:d"}`)
		stop()
		<-done
		expect(t, "asked", w.grant(), `unsubscribe{"uri":"a:b"}`, `unsubscribe{"uri":"c:d"}`)
		w.end()
	})
}

// A subscription that the server refuses half-way fails, and takes back its
// own part and nobody else's.
func TestRefusedSubscription(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		ctx, stop := context.WithCancel(t.Context())
		good, heard := w.listening(ctx, `{"resourceSubscriptions":["c:d"]}`)
		w.grant()
		bad, heardBad := w.listening(t.Context(), `{"resourceSubscriptions":["a:b","no:no","c:d"]}`)
		w.grant()
		m := message(t, w.one())
		w.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32002,"message":"no"}}`)
		if o := <-bad; o.err == nil {
			t.Error("it was not refused")
		}
		expect(t, "heard", *heardBad)
		expect(t, "asked", w.grant(), `unsubscribe{"uri":"a:b"}`, `unsubscribe{"uri":"no:no"}`)
		w.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"c:d"}}`)
		if len(*heard) != 2 {
			t.Errorf("the other one heard %q", *heard)
		}
		stop()
		<-good
		expect(t, "asked", w.grant(), `unsubscribe{"uri":"c:d"}`)
		w.end()
	})
}

func TestListenParams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, `{}`)
		wantCode(t, (<-w.start(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: raw(`{"notifications":5}`)})).err, mcp.CodeInvalidParams)
		ctx, stop := context.WithCancel(t.Context())
		done, heard := w.listening(ctx, `{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`)
		expect(t, "heard", *heard, `subscriptions/acknowledged{"notifications":{}}`)
		stop()
		<-done
		w.silent()
		w.end()
	})
}

// There is one level for a session: it is raised when a call wants more, once.
func TestLogLevelIsRaisedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		call := func(level mcp.LogLevel, answer string) {
			t.Helper()
			c := callBy("")
			heard := 0
			c.Caller.LogLevel, c.OnNotification = level, func(mcp.Notification) { heard++ }
			done := w.start(t.Context(), c)
			m := message(t, w.one())
			if answer != "" {
				if m.Method != mcp.MethodLoggingSetLevel || string(m.Params) != `{"level":"`+string(level)+`"}` {
					t.Fatalf("level %s: sent %s %s", level, m.Method, m.Params)
				}
				w.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`)
				m = message(t, w.one())
			}
			if m.Method != mcp.MethodToolsCall {
				t.Fatalf("level %s: sent %s", level, m.Method)
			}
			w.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":1}}`, result(string(m.ID), "done"))
			w.wantResult(done, "done")
			if want := map[mcp.LogLevel]int{"warning": 1, "debug": 1}[level]; heard != want {
				t.Errorf("level %q heard %d lines, want %d", level, heard, want)
			}
		}
		call("", "")
		call("warning", `"result":{}`)
		call("warning", "")
		call("error", "")
		call("debug", `"error":{"code":-32601,"message":"no"}`)
		call("debug", "")
		w.end()

		w = ready(t, `{"tools":{}}`)
		call("warning", "") // a server without logging is not told
		w.end()
	})
}

// A log message outside of calls goes to the client, also while a call is open
// that nobody reads notifications of, as extensions make them.
func TestLogMessagePassesCallsThatTakeNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, `{"tools":{}}`)
		c := callBy("")
		c.Caller.LogLevel = mcp.LogDebug
		done := w.start(t.Context(), c)
		m := message(t, w.one())
		w.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`, result(string(m.ID), "done"))
		w.wantResult(done, "done")
		if len(w.heard) != 1 {
			t.Errorf("the client heard %v, want the log message", w.heard)
		}
		w.end()
	})
}

// A caller that gives up on setLevel leaves it to the next one.
func TestLogLevelGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		c.Caller.LogLevel = "info"
		for range 2 {
			ctx, stop := context.WithCancel(t.Context())
			done := w.start(ctx, c)
			if m := message(t, w.one()); m.Method != mcp.MethodLoggingSetLevel {
				t.Errorf("sent %s", m.Method)
			}
			stop()
			if o := <-done; !errors.Is(o.err, context.Canceled) {
				t.Error(o.err)
			}
		}
		w.end()
	})
}

func TestWhatLegacyServersAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		res, err := w.peer.Serve(t.Context(), &mcp.Call{Method: mcp.MethodDiscover})
		if err != nil || !strings.Contains(string(res.Body), `"subscribe":true`) || res.Server.Name != "s" {
			t.Errorf("discover: %s, %v", res.Body, err)
		}
		for _, c := range []struct{ answer, body, meta, err string }{
			{`"result":{"contents":[],"ttlMs":5,"cacheScope":"public","resultType":"x","_meta":{"progressToken":1,"` + mcp.MetaServerInfo + `":2,"m":3}}`, `{"contents":[]}`, `map[m:[51]]`, ""},
			{`"error":{"code":-32002,"message":"none"}`, "", "", `-32602 {"uri":"a:b"}`},
			{`"error":{"code":-32002,"message":"none","data":{"uri":"x:y"}}`, "", "", `-32602 {"uri":"x:y"}`},
			{`"error":{"code":0,"message":"none"}`, "", "", `0 `},
			{`"result":null`, "", "", `-32603 `},
			{`"x":1`, "", "", `-32603 `},
		} {
			done, id := w.put(&mcp.Call{Method: mcp.MethodResourcesRead, Params: raw(`{"uri":"a:b"}`)})
			w.send(`{"jsonrpc":"2.0","id":` + id + `,` + c.answer + `}`)
			o := <-done
			if c.err != "" {
				if e, ok := errors.AsType[*mcp.Error](o.err); !ok || fmt.Sprintf("%d %s", e.Code, e.Data) != c.err {
					t.Errorf("%s: %v %+v", c.answer, o.err, e)
				}
			} else if o.err != nil || string(o.res.Body) != c.body || fmt.Sprint(o.res.Meta) != c.meta {
				t.Errorf("%s: %s %v, %v", c.answer, o.res.Body, o.res.Meta, o.err)
			}
		}
		w.end()
	})
}

// No key of another envelope leaves with a call.
func TestStampedMeta(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		c.Meta = mcp.Meta{"mine": raw(`1`), mcp.MetaProtocolVersion: raw(`"2026-07-28"`), mcp.MetaProgressToken: raw(`"stray"`)}
		c.Progress, c.OnNotification = true, func(mcp.Notification) {}
		done := w.start(t.Context(), c)
		m := message(t, w.one())
		if want := `{"_meta":{"progressToken":` + string(m.ID) + `,"mine":1},"name":"t"}`; string(m.Params) != want {
			t.Errorf("sent %s, want %s", m.Params, want)
		}
		w.send(result(string(m.ID), "done"))
		w.wantResult(done, "done")
		synctest.Wait()
		w.end()
	})
}

func TestHandshakeFailures(t *testing.T) {
	for answer, want := range map[string]string{
		`"error":{"code":-32602,"message":"no"}`: "no (-32602)",
		`"result":{}`:                            `revision ""`,
		`"result":{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`: `unknown protocol revision "2099-01-01"`,
		`"result":{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`: `revision "2026-07-28"`,
		`"result":{"protocolVersion":5}`: "cannot be used",
		`"result":null`:                  "result",
	} {
		t.Run(answer, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWire(t)
				done := make(chan error, 1)
				go func() { done <- w.peer.Handshake(t.Context(), "") }()
				w.send(`{"jsonrpc":"2.0","id":` + string(message(t, w.one()).ID) + `,` + answer + `}`)
				if err := <-done; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				w.silent()
				w.end()
			})
		})
	}
}
