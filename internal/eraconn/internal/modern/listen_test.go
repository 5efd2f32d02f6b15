package modern

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// station is a Handler that detaches: its notes go to side.
type station struct {
	side    func(mcp.Notification)
	stopped int
	err     error // what it returns after it has detached
	blocks  bool  // it does not detach
}

func (s *station) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	s.side = c.OnNotification
	if s.blocks {
		c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged})
		c.Notify(mcp.Notification{Method: mcp.NotificationProgress})
		return mcp.Result{Server: &mcp.Implementation{Name: "blocked", Version: "1"}}, ctx.Err()
	}
	c.Detach(func() { s.stopped++ })
	if s.err != nil && s.err.Error() == "panic" {
		panic("station")
	}
	return mcp.Result{Server: &mcp.Implementation{Name: "station", Version: "1"}}, s.err
}

func listenRequest(t *testing.T) *jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":"seven","method":"subscriptions/listen","params":{"notifications":{},"_meta":{"` +
		mcp.MetaProtocolVersion + `":"` + string(Revision) + `","` + mcp.MetaClientCapabilities + `":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

// A subscription gathers news, each once and no more than it can keep, and
// repeats the id of its request in all that it says.
func TestSubscription(t *testing.T) {
	h := &station{}
	sub, _ := NewServer(h, nil).Listen(t.Context(), listenRequest(t), nil, ReplyWriter{})
	if sub == nil {
		t.Fatal("it is not open")
	}
	for range 3 {
		h.side(mcp.Notification{Method: mcp.NotificationToolsListChanged})
		h.side(mcp.Notification{Method: mcp.NotificationProgress})
	}
	<-sub.Ready()
	notes, lost := sub.Take()
	if len(notes) != 1 || lost {
		t.Fatalf("%d notes wait, lost %v", len(notes), lost)
	}
	if told := string(sub.Append(nil, notes[0])); !strings.Contains(told, `"`+mcp.MetaSubscriptionID+`":"seven"`) {
		t.Error(told)
	}
	for i := range notifyqueue.MaxWaiting + 1 {
		h.side(mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: fmt.Appendf(nil, `{"uri":"%d"}`, i)})
	}
	if notes, lost := sub.Take(); len(notes) != notifyqueue.MaxWaiting || !lost {
		t.Errorf("%d notes wait, lost %v", len(notes), lost)
	}
	end := string(sub.End().Append(nil))
	if h.stopped != 1 {
		t.Errorf("stopped %d times", h.stopped)
	}
	for _, want := range []string{`"id":"seven"`, `"` + mcp.MetaSubscriptionID + `":"seven"`, `"name":"station"`} {
		if !strings.Contains(end, want) {
			t.Errorf("%s is not in %s", want, end)
		}
	}
}

// A Handler that does not detach is served as a call: its notes go back at
// once.
func TestListenWithoutDetaching(t *testing.T) {
	var told []string
	back := ReplyWriter{Notify: func(n clientcall.Notification) { told = append(told, string(n.Value(nil))) }}
	sub, a := NewServer(&station{blocks: true}, nil).Listen(t.Context(), listenRequest(t), nil, back)
	if sub != nil {
		t.Fatal("it is open")
	}
	if got := string(a.Append(nil)); !strings.Contains(got, `"name":"blocked"`) || !strings.Contains(got, `"id":"seven"`) {
		t.Error(got)
	}
	if len(told) != 1 || !strings.Contains(told[0], `"`+mcp.MetaSubscriptionID+`":"seven"`) {
		t.Errorf("told %q", told)
	}
}

// A subscription that fails after it was opened is stopped.
func TestListenFails(t *testing.T) {
	for _, why := range []string{"no news", "panic"} {
		h := &station{err: mcp.InvalidParams("no news")}
		if why == "panic" {
			h.err = errors.New(why)
		}
		func() {
			defer func() { recover() }()
			sub, a := NewServer(h, nil).Listen(t.Context(), listenRequest(t), nil, ReplyWriter{})
			if got := string(a.Append(nil)); sub != nil || !strings.Contains(got, why) || !strings.Contains(got, `"id":"seven"`) {
				t.Errorf("%s: %s", why, got)
			}
		}()
		if h.stopped != 1 {
			t.Errorf("%s: stopped %d times", why, h.stopped)
		}
	}
}
