package legacy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func nothing(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }

func TestVersionNegotiation(t *testing.T) {
	spec := schemas(t)
	for wanted, want := range map[mcp.Revision]mcp.Revision{
		mcp.Rev20241105: mcp.Rev20241105, mcp.Rev20250326: mcp.Rev20250326, mcp.Rev20250618: mcp.Rev20250618, mcp.Rev20251125: mcp.Rev20251125,
		mcp.Rev20260728: mcp.Rev20251125, "2099-01-01": mcp.Rev20251125, "1": mcp.Rev20251125,
	} {
		t.Run(string(wanted), func(t *testing.T) {
			cl := newClient(t, spec, offering(everything, nothing))
			defer cl.session.Close()
			cl.rev = ""
			m := cl.request(mcp.MethodInitialize, `{"protocolVersion":"`+string(wanted)+`","capabilities":`+ableClient+`,"clientInfo":{"name":"c","version":"1"}}`)
			if m.Error != nil || !strings.Contains(string(m.Result), `"protocolVersion":"`+string(want)+`"`) || !strings.Contains(string(m.Result), "be kind") {
				t.Fatalf("got %s %+v", m.Result, m.Error)
			}
			if has := strings.Contains(string(m.Result), `"completions"`); has != (want != mcp.Rev20241105) {
				t.Errorf("completions: %v", has)
			}
			if has := strings.Contains(string(m.Result), `"icons"`); has != (want == mcp.Rev20251125) {
				t.Errorf("icons: %v", has)
			}
			if got := cl.session.Revision(); got != want {
				t.Errorf("the session speaks %s", got)
			}
			if spec != nil {
				cl.rev = want
				cl.check("the answer", string(jsonrpc.AppendResult(nil, jsonrpc.IntID(1), m.Result)), mcp.MethodInitialize)
			}
		})
	}
}

func TestInitializeErrors(t *testing.T) {
	cl := newClient(t, nil, offering(everything, nothing))
	defer cl.session.Close()
	cl.wantError(mcp.MethodToolsList, ``, mcp.CodeInvalidParams, "before initialize")
	cl.wantError(mcp.MethodLoggingSetLevel, `{"level":"info"}`, mcp.CodeInvalidParams, "before initialize")
	for _, bad := range []string{``, `{}`, `{"protocolVersion":5}`, `{"protocolVersion":"","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, `{"protocolVersion":"2025-11-25","capabilities":5}`} {
		cl.wantError(mcp.MethodInitialize, bad, mcp.CodeInvalidParams, "initialize")
	}
	if m := cl.request(mcp.MethodPing, ``); m.Error != nil {
		t.Errorf("ping before initialize: %v", m.Error)
	}
	cl.initialize(mcp.Rev20250618, `{}`)
	cl.wantError(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, mcp.CodeInvalidRequest, "already initialized")
	if cl.session.Revision() != mcp.Rev20250618 {
		t.Error("a second initialize changed the session")
	}
	broken := newClient(t, nil, mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, errors.New("CANARY")
	}))
	m := broken.initialize(mcp.Rev20251125, `{}`)
	if m.Error == nil || strings.Contains(m.Error.Message, "CANARY") || broken.session.Revision() != "" {
		t.Errorf("a server that cannot be discovered: %+v", m.Error)
	}
	broken.session.Close()
}

// Requests that a client sends without waiting for the answer to initialize
// are served after it.
func TestRequestsBehindInitialize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		listening := 0
		cl := newClient(t, nil, mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			switch c.Method {
			case mcp.MethodDiscover:
				<-release
				return mcp.Result{Body: raw(`{"capabilities":` + everything + `}`)}, nil
			case mcp.MethodSubscriptionsListen:
				if ctx.Err() == nil { // it does not detach
					listening++
				}
				<-ctx.Done()
			}
			return mcp.Result{Body: raw(`{"tools":[]}`)}, nil
		}))
		cl.session.Arrived()
		done := make(chan *jsonrpc.Message, 2)
		go func() { done <- cl.request(mcp.MethodToolsList, ``) }()
		synctest.Wait()
		cl.session.Notified(&jsonrpc.Message{Method: mcp.NotificationInitialized})
		go func() { done <- cl.initialize(mcp.Rev20251125, `{}`) }()
		synctest.Wait()
		close(release)
		for range 2 {
			if m := <-done; m.Error != nil {
				t.Errorf("got %v", m.Error)
			}
		}
		synctest.Wait()
		if listening != 1 {
			t.Errorf("%d subscriptions to the lists, want 1", listening)
		}
		cl.session.Close()
	})
}

func TestSetLevel(t *testing.T) {
	h := func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		for _, level := range []string{"debug", "info", "error"} {
			c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: raw(`{"level":"` + level + `","data":1}`)})
		}
		return mcp.Result{Body: raw(`{"content":[]}`)}, nil
	}
	cl := newClient(t, schemas(t), offering(everything, h))
	defer cl.session.Close()
	cl.initialize(mcp.Rev20250618, `{}`)
	lines := func(want int) {
		t.Helper()
		cl.told = nil
		cl.request(mcp.MethodToolsCall, `{"name":"t"}`)
		if len(cl.told) != want {
			t.Errorf("told %q, want %d lines", cl.told, want)
		}
	}
	lines(2)
	cl.wantError(mcp.MethodLoggingSetLevel, `{"level":"loud"}`, mcp.CodeInvalidParams, "loud")
	cl.wantError(mcp.MethodLoggingSetLevel, `{}`, mcp.CodeInvalidParams, "")
	cl.wantError(mcp.MethodLoggingSetLevel, `{"level":5}`, mcp.CodeInvalidParams, "")
	lines(2)
	cl.request(mcp.MethodLoggingSetLevel, `{"level":"debug"}`)
	lines(3)
	cl.request(mcp.MethodLoggingSetLevel, `{"level":"emergency"}`)
	lines(0)

	without := newClient(t, nil, offering(`{"tools":{}}`, h))
	defer without.session.Close()
	without.initialize(mcp.Rev20250618, `{}`)
	without.wantError(mcp.MethodLoggingSetLevel, `{"level":"loud"}`, mcp.CodeMethodNotFound, "")
	without.request(mcp.MethodToolsCall, `{"name":"t"}`)
	if len(without.told) > 0 {
		t.Errorf("a server that does not offer logging told %q", without.told)
	}
}

func TestProgressTokens(t *testing.T) {
	cl := newClient(t, schemas(t), offering(everything, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: raw(`{"progress":1}`)})
		if _, strayed := c.Meta[mcp.MetaLogLevel]; strayed || len(c.Meta) > 1 {
			t.Errorf("the meta is %v", c.Meta)
		}
		return mcp.Result{Body: raw(`{"content":[]}`)}, nil
	}))
	defer cl.session.Close()
	cl.initialize(mcp.Rev20251125, `{}`)
	for token, want := range map[string]int{`"a"`: 1, `0`: 1, `-7`: 1, `""`: 1, `1.5`: 0, `null`: 0, `{}`: 0, `true`: 0} {
		cl.told = nil
		cl.request(mcp.MethodToolsCall, `{"name":"t","_meta":{"progressToken":`+token+`,"mine":1,"`+mcp.MetaLogLevel+`":"debug"}}`)
		if len(cl.told) != want {
			t.Errorf("token %s: told %q", token, cl.told)
		}
	}
	cl.told = nil
	cl.request(mcp.MethodToolsCall, `{"name":"t","_meta":5}`)
	if len(cl.told) > 0 {
		t.Errorf("told %q", cl.told)
	}
}

// A hub is a server with news: as a Listener, or by calls that stay open.
type hub struct {
	mcp.Handler
	mu      sync.Mutex
	next    int
	open    map[int]*mcp.Call
	stopped int
}

func newHub() *hub {
	h := &hub{open: map[int]*mcp.Call{}}
	h.Handler = offering(everything, func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method != mcp.MethodSubscriptionsListen {
			return mcp.Result{}, nil
		}
		stop, err := h.listen(c)
		if err == nil {
			<-ctx.Done()
			stop()
		}
		return mcp.Result{}, err
	})
	return h
}

func (h *hub) listen(c *mcp.Call) (func(), error) {
	if strings.Contains(string(c.Params), "panic:") {
		panic("no such resource")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := h.next
	h.open[id] = c
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, id)
		h.stopped++
	}, nil
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

// publish tells a note to every subscription that wants it.
func (h *hub) publish(n mcp.Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.open {
		var p mcp.ListenParams
		if mcp.Unmarshal(c.Params, &p) == nil && p.Notifications.Wants(n) {
			c.Notify(n)
		}
	}
}

type listeningHub struct{ *hub }

func (h listeningHub) Listen(c *mcp.Call) (func() mcp.Result, error) {
	stop, err := h.listen(c)
	if err != nil {
		return nil, err
	}
	return func() mcp.Result { stop(); return mcp.Result{} }, nil
}

func TestNews(t *testing.T) {
	spec := schemas(t)
	for _, byCall := range []bool{false, true} {
		t.Run(fmt.Sprint("by call ", byCall), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newHub()
				var handler mcp.Handler = listeningHub{h}
				if byCall {
					handler = h.Handler
				}
				cl := newClient(t, spec, handler)
				cl.initialize(mcp.Rev20251125, `{}`)
				news := func(want int, notes ...mcp.Notification) {
					t.Helper()
					synctest.Wait()
					for _, n := range notes {
						h.publish(n)
					}
					synctest.Wait()
					cl.mu.Lock()
					defer cl.mu.Unlock()
					if len(cl.pushed) != want {
						t.Errorf("pushed %q, want %d", cl.pushed, want)
					}
					cl.pushed = nil
				}
				tools, updated := mcp.Notification{Method: mcp.NotificationToolsListChanged}, mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: raw(`{"uri":"a:b"}`)}
				news(0, tools, updated)
				for range 2 { // saying it twice changes nothing
					cl.session.Notified(&jsonrpc.Message{Method: mcp.NotificationInitialized})
				}
				news(1, tools, updated)
				for range 2 {
					if m := cl.request(mcp.MethodResourcesSubscribe, `{"uri":"a:b"}`); m.Error != nil {
						t.Fatal(m.Error)
					}
				}
				cl.request(mcp.MethodResourcesSubscribe, `{"uri":"c:d"}`)
				news(2, tools, updated)
				for range 2 {
					if m := cl.request(mcp.MethodResourcesUnsubscribe, `{"uri":"a:b"}`); m.Error != nil {
						t.Fatal(m.Error)
					}
				}
				news(1, tools, updated)
				for _, method := range []string{mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe} {
					for _, bad := range []string{``, `{}`, `{"uri":""}`, `{"uri":5}`} {
						cl.wantError(method, bad, mcp.CodeInvalidParams, "uri")
					}
				}
				if byCall {
					cl.request(mcp.MethodResourcesSubscribe, `{"uri":"panic:x"}`) // costs that subscription only
				}
				news(1, tools)
				cl.session.Close()
				news(0, tools, updated)
				if n := h.count(); n != 0 {
					t.Errorf("%d subscriptions are still open", n)
				}
				cl.session.Close()
				cl.session.Notified(&jsonrpc.Message{Method: mcp.NotificationInitialized})
				cl.request(mcp.MethodResourcesSubscribe, `{"uri":"e:f"}`)
				if synctest.Wait(); h.count() != 0 {
					t.Error("a closed session subscribed")
				}
			})
		})
	}
}

func TestSubscriptionsThatAreNotOffered(t *testing.T) {
	cl := newClient(t, nil, offering(`{"resources":{}}`, nothing))
	defer cl.session.Close()
	cl.initialize(mcp.Rev20251125, `{}`)
	cl.wantError(mcp.MethodResourcesSubscribe, `{"uri":"a:b"}`, mcp.CodeMethodNotFound, "")
	cl.wantError(mcp.MethodResourcesUnsubscribe, `{"uri":"a:b"}`, mcp.CodeMethodNotFound, "")
}

func TestSubscriptionsAreBounded(t *testing.T) {
	h := newHub()
	cl := newClient(t, nil, listeningHub{h})
	cl.initialize(mcp.Rev20251125, `{}`)
	for i := range maxWatched {
		if m := cl.request(mcp.MethodResourcesSubscribe, fmt.Sprintf(`{"uri":"a:%d"}`, i)); m.Error != nil {
			t.Fatal(m.Error)
		}
	}
	cl.wantError(mcp.MethodResourcesSubscribe, `{"uri":"one:more"}`, mcp.CodeInvalidParams, "at most 1000")
	if m := cl.request(mcp.MethodResourcesSubscribe, `{"uri":"a:5"}`); m.Error != nil {
		t.Errorf("one that is there already: %v", m.Error)
	}
	cl.request(mcp.MethodResourcesUnsubscribe, `{"uri":"a:5"}`)
	if m := cl.request(mcp.MethodResourcesSubscribe, `{"uri":"one:more"}`); m.Error != nil {
		t.Error(m.Error)
	}
	cl.session.Close()
	if n := h.count(); n != 0 {
		t.Errorf("%d subscriptions are still open", n)
	}
}

// What belongs to the newest revision only does not reach an older client.
func TestResultsOfAnotherKind(t *testing.T) {
	for _, res := range []mcp.Result{{Type: "task", Body: raw(`{}`)}, {Body: raw(`[]`)}, {Body: raw(`"x"`)}} {
		cl := newClient(t, nil, offering(everything, func(context.Context, *mcp.Call) (mcp.Result, error) { return res, nil }))
		cl.initialize(mcp.Rev20251125, `{}`)
		cl.wantError(mcp.MethodToolsCall, `{"name":"t"}`, mcp.CodeInternal, "result of tools/call")
		cl.session.Close()
	}
}

// A handler gets the error that the client answers a question with, and may go
// on without an answer; it finds the refusal again in later rounds.
func TestClientThatRefusesAQuestion(t *testing.T) {
	asked := 0
	cl := newClient(t, nil, offering(everything, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		_, err := c.Ask("k", mcp.InputRequest{Method: mcp.MethodRootsList})
		if refused, ok := errors.AsType[*mcp.Error](err); ok {
			if _, err = c.Ask("again", mcp.InputRequest{Method: mcp.MethodRootsList}); err == nil {
				err = refused
			}
		}
		return mcp.Result{}, err
	}))
	defer cl.session.Close()
	cl.initialize(mcp.Rev20251125, ableClient)
	cl.answer = func(string, []byte) jsonrpc.Message {
		if asked++; asked > 1 {
			return jsonrpc.Message{Result: raw(`{"roots":[]}`)}
		}
		return jsonrpc.Message{Error: &jsonrpc.Error{Code: -1, Message: "User rejected"}}
	}
	cl.wantError(mcp.MethodToolsCall, `{"name":"t"}`, -1, "User rejected")
	if asked != 2 {
		t.Errorf("the client was asked %d times, want 2", asked)
	}
}

// A client gets the error of a subscription that is refused for now, and may try
// again.
func TestRefusedSubscriptionIsAnError(t *testing.T) {
	for _, detaches := range []bool{false, true} {
		var full atomic.Bool
		full.Store(true)
		cl := newClient(t, nil, offering(everything, func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method != mcp.MethodSubscriptionsListen {
				return mcp.Result{}, nil
			}
			if !detaches && ctx.Err() != nil {
				return mcp.Result{}, ctx.Err()
			}
			if detaches {
				c.Detach(func() {})
			}
			if full.Load() && strings.Contains(string(c.Params), "a:b") {
				return mcp.Result{}, mcp.Refusal(http.StatusTooManyRequests, time.Second, "too many open subscriptions")
			}
			c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
			if !detaches {
				<-ctx.Done()
			}
			return mcp.Result{}, nil
		}))
		cl.initialize(mcp.Rev20251125, `{}`)
		cl.wantError(mcp.MethodResourcesSubscribe, `{"uri":"a:b"}`, 429, "too many open subscriptions")
		full.Store(false)
		if m := cl.request(mcp.MethodResourcesSubscribe, `{"uri":"a:b"}`); m.Error != nil {
			t.Errorf("detaches %v: the second attempt fails with %v", detaches, m.Error)
		}
		cl.session.Close()
	}
}
