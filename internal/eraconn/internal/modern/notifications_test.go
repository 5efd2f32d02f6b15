package modern

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

func note(method, params string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`
}

func methodsOf(notes []mcp.Notification) string {
	var all []string
	for _, n := range notes {
		all = append(all, strings.TrimPrefix(n.Method, "notifications/")+string(n.Params))
	}
	return strings.Join(all, " ")
}

// What a server stamps on a note, its client lifts again; and no key of the
// envelope is left in it.
func TestNotesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		n := mcp.Notification{Method: []string{mcp.NotificationProgress, mcp.NotificationMessage, mcp.NotificationToolsListChanged, mcp.NotificationResourceUpdated}[r.IntN(4)]}
		if p := object(r, pick(r, map[string]string{"level": `"info"`, "data": `{"_meta":1}`, "progress": `1`, "uri": `"a:b"`})); p != "{}" {
			n.Params = raw(p)
		}
		stamped := n
		for k, v := range pick(r, someMeta) {
			if n.Meta == nil {
				n.Meta, stamped.Meta = mcp.Meta{}, mcp.Meta{}
			}
			n.Meta[k], stamped.Meta[k] = raw(v), raw(v)
		}
		for _, key := range reservedMeta {
			if stamped.Meta != nil && r.IntN(2) == 0 {
				stamped.Meta[key] = raw(`"stray"`)
			}
		}
		req := &request{id: []byte("1"), token: []byte("1"), call: mcp.Call{Method: mcp.MethodToolsCall}}
		if n.Method != mcp.NotificationProgress && n.Method != mcp.NotificationMessage {
			req.call.Method = mcp.MethodSubscriptionsListen
		}
		line := string(appendNotification(nil, req, stamped))
		var got []mcp.Notification
		p, err := NewPeer(nil, &mcp.ClientProfile{}, true)
		if err != nil {
			t.Fatal(err)
		}
		call := req.call
		call.Progress, call.Caller.LogLevel = true, mcp.LogDebug
		call.OnNotification = func(n mcp.Notification) { got = append(got, n) }
		o := newOpen(p, 1, &call)
		p.Notification(message(t, line), 0)
		if err := o.Deliver(call.OnNotification); err != nil {
			t.Fatal(err)
		}
		if n.Method == mcp.NotificationMessage && rawjson.Lookup(n.Params, "level") == nil {
			if len(got) != 0 {
				t.Fatalf("%s: a line without a level was heard", line)
			}
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%s: heard %d notes", line, len(got))
		}
		if a, b := rawjson.AppendCanonical(nil, got[0].Params), rawjson.AppendCanonical(nil, n.Params); string(a) != string(b) || fmt.Sprint(got[0].Meta) != fmt.Sprint(n.Meta) {
			t.Fatalf("%s\nwas %s %s\nis  %s %s", line, n.Params, n.Meta, got[0].Params, got[0].Meta)
		}
	}
}

// C22: progress of a foreign token, of a call that did not want any, and of a
// call that is over goes nowhere.
func TestProgressFindsItsCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWire(t)
		first, heardFirst := w.start(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Progress: true})
		second, heardSecond := w.start(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Progress: true})
		quiet, heardQuiet := w.start(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
		w.send(note(mcp.NotificationProgress, `{"progressToken":1,"progress":1}`), note(mcp.NotificationProgress, `{"progressToken":2,"progress":2}`),
			note(mcp.NotificationProgress, `{"progressToken":3,"progress":3}`), note(mcp.NotificationProgress, `{"progressToken":99,"progress":9}`),
			note(mcp.NotificationProgress, `{"progressToken":"1","progress":9}`), note(mcp.NotificationProgress, `{"progress":9}`), note(mcp.NotificationProgress, `{"progressToken":[1]}`))
		w.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		w.send(note(mcp.NotificationProgress, `{"progressToken":1,"progress":4}`))
		w.send(`{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
		for _, c := range []chan outcome{first, second, quiet} {
			if o := <-c; o.err != nil {
				t.Error(o.err)
			}
		}
		if a, b := methodsOf(*heardFirst), methodsOf(*heardSecond); a != `progress{"progress":1}` || b != `progress{"progress":2}` {
			t.Errorf("heard %s and %s", a, b)
		}
		if len(*heardQuiet)+len(w.heard) > 0 {
			t.Errorf("a call that wanted none heard %v, the persona %v", *heardQuiet, w.heard)
		}
		w.end()
	})
}

// C20: log lines only for those who asked, and never for another principal.
func TestLogLines(t *testing.T) {
	as := func(id string, level mcp.LogLevel) *mcp.Call {
		return &mcp.Call{Method: mcp.MethodToolsCall, Caller: mcp.Caller{LogLevel: level, Principal: &mcp.Principal{ID: id}}}
	}
	for _, c := range []struct {
		name   string
		calls  []*mcp.Call
		lines  []string
		heard  []int // by each call
		strays int   // by the persona
	}{
		{"nobody asked", []*mcp.Call{as("a", "")}, []string{"emergency", "debug"}, []int{0}, 0},
		{"severe enough", []*mcp.Call{as("a", "warning")}, []string{"info", "warning", "error", "loud", ""}, []int{2}, 0},
		{"one of two", []*mcp.Call{as("a", "info"), as("a", "")}, []string{"info"}, []int{1, 0}, 0},
		{"both of one principal", []*mcp.Call{as("a", "info"), as("a", "debug")}, []string{"info"}, []int{1, 1}, 0},
		{"two principals", []*mcp.Call{as("a", "info"), as("b", "info")}, []string{"info"}, []int{0, 0}, 1},
		{"two principals, one asked", []*mcp.Call{as("a", "info"), as("b", "error")}, []string{"info"}, []int{1, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWire(t)
				var heard []*[]mcp.Notification
				var done []chan outcome
				for _, call := range c.calls {
					d, h := w.start(t.Context(), call)
					done, heard = append(done, d), append(heard, h)
				}
				for _, level := range c.lines {
					w.send(note(mcp.NotificationMessage, `{"level":"`+level+`","data":1}`))
				}
				w.send(note(mcp.NotificationMessage, `{"data":1}`), `{"jsonrpc":"2.0","method":"notifications/message"}`)
				for i := range c.calls {
					w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i+1))
					if o := <-done[i]; o.err != nil {
						t.Error(o.err)
					}
					if len(*heard[i]) != c.heard[i] {
						t.Errorf("call %d heard %d lines, want %d", i, len(*heard[i]), c.heard[i])
					}
				}
				if len(w.heard) != c.strays {
					t.Errorf("the persona heard %v, want %d", w.heard, c.strays)
				}
				w.end()
			})
		})
	}
}

func listenCall(filter string) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: raw(`{"notifications":` + filter + `}`)}
}

// A subscription ends with the result, with notifications/cancelled, or with
// both in either order.
func TestListenEnds(t *testing.T) {
	result, cancelled := `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, note("notifications/cancelled", `{"requestId":1}`)
	for name, lines := range map[string][]string{
		"by the result": {result}, "by cancelled": {cancelled},
		"by both": {cancelled, result}, "by both, the other way round": {result, cancelled},
		"and again": {cancelled, cancelled, result, result},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWire(t)
				done, heard := w.start(t.Context(), listenCall(`{"toolsListChanged":true}`))
				other, heardOther := w.start(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
				w.take()
				news := note(mcp.NotificationToolsListChanged, `{"_meta":{"`+mcp.MetaSubscriptionID+`":1,"mine":2}}`)
				w.send(news, note(mcp.NotificationToolsListChanged, `{"_meta":{"`+mcp.MetaSubscriptionID+`":2}}`), note("notifications/cancelled", `{"requestId":2}`),
					note("notifications/cancelled", `{"requestId":"1"}`), note("notifications/cancelled", `{}`), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
				select {
				case o := <-done:
					t.Fatalf("it ended early: %v", o.err)
				default:
				}
				w.send(lines...)
				if o := <-done; o.err != nil {
					t.Errorf("it ended with %v", o.err)
				}
				w.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
				if o := <-other; o.err != nil {
					t.Error(o.err)
				}
				if len(*heard) != 1 || (*heard)[0].Params != nil || len((*heard)[0].Meta) != 1 || len(*heardOther) != 0 {
					t.Errorf("heard %+v and %+v", *heard, *heardOther)
				}
				if got := w.take(); len(got) > 0 {
					t.Errorf("sent %q", got)
				}
				for _, n := range w.heard {
					if n.Method == mcp.NotificationCancelled || rawjson.Lookup(n.Params, keyMeta) != nil {
						t.Errorf("the persona heard %s %s", n.Method, n.Params)
					}
				}
				w.end()
			})
		})
	}
}

// A call that is given up is cancelled by name, and what still comes is noise.
func TestCancelledByName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWire(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		done, heard := w.start(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Progress: true})
		w.take()
		cancel(errors.New(`said "no"`))
		if o := <-done; !errors.Is(o.err, context.Canceled) {
			t.Errorf("got %v", o.err)
		}
		got := w.take()
		if len(got) != 1 || got[0] != note(mcp.NotificationCancelled, `{"requestId":1,"reason":"said \"no\""}`) {
			t.Errorf("sent %q", got)
		}
		w.send(note(mcp.NotificationProgress, `{"progressToken":1,"progress":1}`), `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if len(*heard) > 0 {
			t.Errorf("heard %v", *heard)
		}
		w.end()
	})
}

// L16: a caller that hears slowly loses old progress, not the call, and holds up
// no other.
func TestOldProgressIsDroppedAndTheCallKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWire(t)
		release := make(chan struct{})
		var slowly []mcp.Notification
		slow := &mcp.Call{Method: mcp.MethodToolsCall, Progress: true, OnNotification: func(n mcp.Notification) { <-release; slowly = append(slowly, n) }}
		done, _ := w.start(t.Context(), slow)
		other, heard := w.start(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Progress: true})
		for i := range 5000 {
			w.send(note(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i)))
		}
		w.send(note(mcp.NotificationProgress, `{"progressToken":2,"progress":1}`), `{"jsonrpc":"2.0","id":2,"result":{}}`)
		if o := <-other; o.err != nil || len(*heard) != 1 {
			t.Errorf("the other call heard %d notes and came to %v", len(*heard), o.err)
		}
		close(release)
		w.send(`{"jsonrpc":"2.0","id":1,"result":{"done":true}}`)
		if o := <-done; o.err != nil || string(o.res.Body) != `{"done":true}` {
			t.Errorf("the call came to %s, %v", o.res.Body, o.err)
		}
		if n := len(slowly); n != 1+notifyqueue.MaxWaiting || string(slowly[n-1].Params) != `{"progress":4999}` {
			t.Errorf("heard %d reports, the last %s", n, slowly[n-1].Params)
		}
		w.end()
	})
}

// A subscription that loses changes ends with an error, so that its client
// subscribes again; one whose changes can be merged loses none.
func TestSubscriptionEndsWhenChangesAreLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWire(t)
		release := make(chan struct{})
		heard := 0
		slow := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: raw(`{"notifications":{}}`), OnNotification: func(mcp.Notification) { <-release; heard++ }}
		done, _ := w.start(t.Context(), slow)
		tell := func(uri int) {
			w.send(note(mcp.NotificationResourceUpdated, fmt.Sprintf(`{"uri":"%d","_meta":{"`+mcp.MetaSubscriptionID+`":1}}`, uri)))
		}
		for i := range 5000 {
			tell(i % 3)
		}
		release <- struct{}{}
		for range 3 {
			release <- struct{}{}
		}
		synctest.Wait()
		if heard != 4 || len(done) > 0 {
			t.Errorf("heard %d changes", heard)
		}
		for i := range 2 * notifyqueue.MaxWaiting {
			tell(i)
		}
		close(release)
		if o := <-done; o.err == nil || !strings.Contains(o.err.Error(), "too many unread notifications") {
			t.Errorf("got %v", o.err)
		}
		w.end()
	})
}

// A server sends what was asked for and nothing else.
func TestServerSendsWhatWasAskedFor(t *testing.T) {
	all := []mcp.Notification{
		{Method: mcp.NotificationProgress, Params: raw(`{"progress":1}`)},
		{Method: mcp.NotificationMessage, Params: raw(`{"level":"warning","data":1}`)},
		{Method: mcp.NotificationMessage, Params: raw(`{"level":"debug","data":1}`)},
		{Method: mcp.NotificationToolsListChanged},
	}
	for _, c := range []struct{ method, meta, want string }{
		{mcp.MethodToolsCall, ``, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{mcp.MethodToolsCall, `,"progressToken":"p"`, `"progressToken":"p","progress":1`},
		{mcp.MethodToolsCall, `,"` + mcp.MetaLogLevel + `":"info"`, `"level":"warning"`},
		{mcp.MethodSubscriptionsListen, `,"progressToken":"p","` + mcp.MetaLogLevel + `":"debug"`, `"` + mcp.MetaSubscriptionID + `":"id"`},
	} {
		var told []string
		s := newServer(t, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
			for _, n := range all {
				c.Notify(n)
			}
			return mcp.Result{}, nil
		})
		m := message(t, `{"jsonrpc":"2.0","id":"id","method":"`+c.method+`","params":{"_meta":{`+goodMeta+c.meta+`}}}`)
		s.Serve(t.Context(), m, nil, ReplyWriter{Notify: func(n clientcall.Notification) {
			line := string(n.Value(nil))
			message(t, line)
			told = append(told, line)
		}})
		found := false
		for _, line := range told {
			found = found || strings.Contains(line, c.want)
			if strings.Contains(line, `"debug"`) {
				t.Errorf("%s told %s", c.meta, line)
			}
		}
		if want := 1 + strings.Count(c.meta, "{") + map[bool]int{true: 1}[c.method == mcp.MethodToolsCall && c.meta != ""]; !found || len(told) != want {
			t.Errorf("%s %s told %d lines, want %d with %s:\n%s", c.method, c.meta, len(told), want, c.want, strings.Join(told, "\n"))
		}
	}
}
