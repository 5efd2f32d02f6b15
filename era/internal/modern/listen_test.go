package modern

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// station is a Handler that is listened to: its notes go to side.
type station struct {
	side func(mcp.Note)
	err  error
}

func (s *station) Listen(c *mcp.Call) (func() mcp.Result, error) {
	s.side = c.Side
	return func() mcp.Result { return mcp.Result{Server: &mcp.Implementation{Name: "station", Version: "1"}} }, s.err
}

func (s *station) Serve(context.Context, *mcp.Call) (mcp.Result, error) {
	return mcp.Result{Server: &mcp.Implementation{Name: "called", Version: "1"}}, nil
}

func listenRequest(t *testing.T) *jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":"seven","method":"subscriptions/listen","params":{"notifications":{},"_meta":{"` +
		metaVersion + `":"` + string(Revision) + `","` + metaCapabilities + `":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

// A subscription gathers news, each once and no more than it can keep, and
// repeats the id of its request in all that it says.
func TestSubscription(t *testing.T) {
	h := &station{}
	sub, serve := NewServer(h, nil).Listen(listenRequest(t), nil, Back{})
	if sub == nil || serve != nil {
		t.Fatal("it is not open")
	}
	for range 3 {
		h.side(mcp.Note{Method: mcp.NoteToolsListChanged})
		h.side(mcp.Note{Method: mcp.NoteProgress})
	}
	<-sub.Ready()
	notes, lost := sub.Take()
	if len(notes) != 1 || lost {
		t.Fatalf("%d notes wait, lost %v", len(notes), lost)
	}
	if told := string(sub.Append(nil, notes[0])); !strings.Contains(told, `"`+metaSubscription+`":"seven"`) {
		t.Error(told)
	}
	for i := range maxNews + 1 {
		h.side(mcp.Note{Method: mcp.NoteResourceUpdated, Params: fmt.Appendf(nil, `{"uri":"%d"}`, i)})
	}
	if notes, lost := sub.Take(); len(notes) != maxNews || !lost {
		t.Errorf("%d notes wait, lost %v", len(notes), lost)
	}
	end := string(sub.End().Append(nil))
	for _, want := range []string{`"id":"seven"`, `"` + metaSubscription + `":"seven"`, `"name":"station"`} {
		if !strings.Contains(end, want) {
			t.Errorf("%s is not in %s", want, end)
		}
	}
}

// What a Listener cannot do is a call, or an error.
func TestListenOtherwise(t *testing.T) {
	for want, err := range map[string]error{`"name":"called"`: mcp.ErrListenByCall, "no news": mcp.InvalidParams("no news")} {
		sub, serve := NewServer(&station{err: err}, nil).Listen(listenRequest(t), nil, Back{})
		if sub != nil {
			t.Fatalf("%v: it is open", err)
		}
		if a := string(serve(t.Context()).Append(nil)); !strings.Contains(a, want) || !strings.Contains(a, `"id":"seven"`) {
			t.Errorf("%v: %s", err, a)
		}
	}
}
