package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// A dialled server has a connection for each caller, and knows whose it is.
type dialled struct {
	mu    sync.Mutex
	conns []*own
	fail  error
	close time.Duration // how long closing takes
}

// An own is the connection of one caller.
type own struct {
	*fake
	whose  string
	d      *dialled
	closed atomic.Bool
	calls  atomic.Int32
	notify atomic.Pointer[func(mcp.Notification)] // of the last subscription
	update atomic.Pointer[func(mcp.Notification)] // of the last subscription to resources
	ended  context.CancelFunc
}

func (d *dialled) dial(_ context.Context, c mcp.Caller) (mcp.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return nil, d.fail
	}
	one := &own{whose: c.Principal.Key(), d: d}
	if c.Session != nil {
		one.whose += " " + c.Session.ID()
	}
	one.whose = strings.TrimPrefix(one.whose, "\x00")
	life, end := context.WithCancel(context.Background())
	one.ended = end
	one.fake = &fake{
		tools: toolsOf(`{"name":"of_` + one.whose + `"}`),
		listen: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			ack(c)
			one.notify.Store(&c.OnNotification)
			if strings.Contains(string(c.Params), "resourceSubscriptions") {
				one.update.Store(&c.OnNotification)
			}
			select {
			case <-ctx.Done():
				return mcp.Result{}, ctx.Err()
			case <-life.Done():
				return mcp.Result{}, errors.New("closed")
			}
		},
		other: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			one.calls.Add(1)
			if strings.Contains(string(c.Params), "wait") {
				return block(ctx, c)
			}
			if c.Progress {
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"message":"` + one.whose + `"}`)})
			}
			return mcp.Result{Body: json.RawMessage(`{"whose":"` + one.whose + `","params":` + string(c.Params) + `}`)}, nil
		},
	}
	d.conns = append(d.conns, one)
	return one, nil
}

func (o *own) Close() error {
	time.Sleep(o.d.close)
	o.closed.Store(true)
	o.ended()
	return nil
}

// open returns whose connections are open.
func (d *dialled) open() (whose []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.conns {
		if !one.closed.Load() {
			whose = append(whose, one.whose)
		}
	}
	slices.Sort(whose)
	return whose
}

func (d *dialled) of(whose string) (last *own) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.conns {
		if one.whose == whose {
			last = one
		}
	}
	return last
}

func caller(name string) mcp.Caller { return mcp.Caller{Principal: &mcp.Principal{ID: name}} }

func session(name, id string) mcp.Caller {
	c := caller(name)
	c.Session = mcp.NewSession(id)
	return c
}

// callAs makes a call as a caller.
func callAs(ctx context.Context, r *Router, who mcp.Caller, method, params string) (string, error) {
	res, err := r.Serve(ctx, &mcp.Call{Method: method, Params: json.RawMessage(params), Caller: who})
	return string(res.Body), err
}

// pooled runs a test with a Router of a server with connections for each caller, a,
// and one that all share, b.
func pooled(t *testing.T, o Connections, test func(t *testing.T, r *Router, d *dialled)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{}
		o.Dial = d.dial
		r, err := NewRouter([]Upstream{{Name: "a", Connections: &o}, {Name: "b", Handler: &fake{tools: toolsOf(`{"name":"y"}`)}}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(t, r, d)
		r.Close()
		if open := d.open(); len(open) > 0 {
			t.Errorf("after Close connections of %q are open", open)
		}
	})
}

func TestEachUserHasAConnection(t *testing.T) {
	pooled(t, Connections{Scope: PerUser}, func(t *testing.T, r *Router, d *dialled) {
		if got := d.open(); len(got) != 0 {
			t.Errorf("connections of %q without a call", got)
		}
		for range 3 {
			for _, who := range []mcp.Caller{caller("ann"), caller("bob"), {}} {
				name := who.Principal.Key()
				name = strings.TrimPrefix(name, "\x00")
				want := `{"tools":[{"name":"a__of_` + name + `"},{"name":"b__y"}]}`
				if got, err := callAs(t.Context(), r, who, mcp.MethodToolsList, `{}`); err != nil || got != want {
					t.Errorf("the list of %q: %s, %v; want %s", name, got, err, want)
				}
				want = `{"whose":"` + name + `","params":{"name":"x"}}`
				if got, err := callAs(t.Context(), r, who, mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil || got != want {
					t.Errorf("the call of %q: %s, %v; want %s", name, got, err, want)
				}
			}
		}
		if got := d.open(); len(got) != 3 {
			t.Errorf("connections of %q", got)
		}
	})
}

// Status counts the connections, users and calls of a server whose callers have
// connections of their own.
func TestStatusCountsConnections(t *testing.T) {
	pooled(t, Connections{Scope: PerSession}, func(t *testing.T, r *Router, d *dialled) {
		if got := r.Status()[0]; got.Connections != 0 || got.Users != 0 || got.Calls != 0 || !got.Connected {
			t.Errorf("before a call: %+v", got)
		}
		for _, who := range []mcp.Caller{session("ann", "1"), session("ann", "2"), session("bob", "3")} {
			for _, method := range []string{mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodToolsCall} {
				if _, err := callAs(t.Context(), r, who, method, `{"name":"a__x"}`); err != nil {
					t.Error(err)
				}
			}
		}
		if got := r.Status()[0]; got.Connections != 3 || got.Users != 2 || got.Calls != 6 || got.Failures != 0 || got.Tools != 1 {
			t.Errorf("after calls: %+v", got)
		}
		if got := r.Status()[1]; got.Connections != 1 || got.Users != 0 || got.Calls != 0 {
			t.Errorf("a server that all share: %+v", got)
		}
		d.mu.Lock()
		d.fail = errors.New("no more")
		d.mu.Unlock()
		if _, err := callAs(t.Context(), r, session("eve", "4"), mcp.MethodToolsCall, `{"name":"a__x"}`); err == nil {
			t.Error("a call without a connection has no error")
		}
		if got := r.Status()[0]; got.Connections != 3 || got.Users != 2 || got.Calls != 7 || got.Failures != 1 {
			t.Errorf("after a failure: %+v", got)
		}
	})
}

// A token with fewer scopes does not get the connection of another one of its user.
func TestEachGrantHasAConnection(t *testing.T) {
	with := func(scopes ...string) mcp.Caller {
		who := caller("ann")
		p := *who.Principal
		p.Scopes = scopes
		who.Principal = &p
		return who
	}
	pooled(t, Connections{Scope: PerGrant}, func(t *testing.T, r *Router, d *dialled) {
		for _, who := range []mcp.Caller{with("read", "write"), with("read"), with("write", "read"), with("read", "read"), with()} {
			if _, err := callAs(t.Context(), r, who, mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
				t.Error(err)
			}
		}
		if got := d.open(); len(got) != 3 {
			t.Errorf("connections of %q; want three: read and write, read, none", got)
		}
	})
}

// TestEachSessionHasAConnection has two sessions of one user, a restored session,
// and a client without sessions.
func TestEachSessionHasAConnection(t *testing.T) {
	pooled(t, Connections{Scope: PerSession}, func(t *testing.T, r *Router, d *dialled) {
		one, two := session("ann", "1"), session("ann", "2")
		for _, who := range []mcp.Caller{one, two, session("ann", "1"), caller("ann"), caller("ann")} {
			if _, err := callAs(t.Context(), r, who, mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
				t.Error(err)
			}
		}
		if got, want := d.open(), []string{"ann", "ann 1", "ann 2"}; !slices.Equal(got, want) {
			t.Errorf("connections of %q; want %q", got, want)
		}
		two.Session.End()
		synctest.Wait()
		if got, want := d.open(), []string{"ann", "ann 1"}; !slices.Equal(got, want) {
			t.Errorf("after the end of a session connections of %q; want %q", got, want)
		}
		one.Session.End() // it was restored: only the last one counts
		synctest.Wait()
		if got := d.open(); len(got) != 2 {
			t.Errorf("after the end of a former session connections of %q", got)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	pooled(t, Connections{Scope: PerUser, Max: 2, Idle: time.Minute}, func(t *testing.T, r *Router, d *dialled) {
		d.close = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		defer busy.Wait()
		defer cancel()
		call := func(name string) error {
			_, err := callAs(t.Context(), r, caller(name), mcp.MethodToolsCall, `{"name":"a__x"}`)
			return err
		}
		busy.Go(func() {
			_, _ = callAs(ctx, r, caller("ann"), mcp.MethodToolsCall, `{"name":"a__x","arguments":{"wait":1}}`)
		})
		synctest.Wait()
		for _, name := range []string{"bob", "carl"} {
			if err := call(name); err != nil {
				t.Error(err)
			}
			if got, want := d.open(), []string{"ann", name}; !slices.Equal(got, want) {
				t.Errorf("connections of %q; want %q", got, want)
			}
		}
		busy.Go(func() {
			_, _ = callAs(ctx, r, caller("carl"), mcp.MethodToolsCall, `{"name":"a__x","arguments":{"wait":1}}`)
		})
		synctest.Wait()
		err := call("dora")
		if refused, ok := errors.AsType[*mcp.Error](err); !ok || refused.Code != http.StatusServiceUnavailable || refused.HTTPStatus != refused.Code || refused.RetryAfter <= 0 || !strings.Contains(err.Error(), "all 2 connections") {
			t.Errorf("with all connections in use: %#v", err)
		}
		if got, err := callAs(t.Context(), r, caller("dora"), mcp.MethodToolsList, `{}`); err != nil || got != `{"tools":[{"name":"b__y"}]}` {
			t.Errorf("a list with all connections in use: %s, %v", got, err)
		}
		cancel()
		busy.Wait()
		time.Sleep(59 * time.Second)
		if got := d.open(); len(got) != 2 {
			t.Errorf("connections of %q", got)
		}
		time.Sleep(3 * time.Second)
		if got := d.open(); len(got) != 0 {
			t.Errorf("after a minute connections of %q", got)
		}
		if err := call("dora"); err != nil {
			t.Error(err)
		}
	})
}

// TestUnfinishedCallsKeepTheirConnection has a call that waits for input and one
// that runs as a task, and a new user who wants a connection.
func TestUnfinishedCallsKeepTheirConnection(t *testing.T) {
	pooled(t, Connections{Scope: PerUser, Max: 2, Idle: time.Minute}, func(t *testing.T, r *Router, d *dialled) {
		results := map[string]func() (mcp.Result, error){
			"ann": func() (mcp.Result, error) { return mcp.Result{}, &mcp.InputRequired{State: "s", Abandon: func() {}} },
			"bob": func() (mcp.Result, error) {
				return mcp.Result{Type: "task", Body: json.RawMessage(`{"taskId":"t","ttlMs":600000}`)}, nil
			},
		}
		for name, result := range results {
			if _, err := callAs(t.Context(), r, caller(name), mcp.MethodToolsList, `{}`); err != nil {
				t.Error(err)
			}
			one := d.of(name)
			one.change(func() { one.other = func(context.Context, *mcp.Call) (mcp.Result, error) { return result() } })
			_, _ = callAs(t.Context(), r, caller(name), mcp.MethodToolsCall, `{"name":"a__x"}`)
		}
		for _, step := range []struct {
			after time.Duration
			open  string
		}{{2 * time.Minute, "[ann bob]"}, {4 * time.Minute, "[bob]"}, {6 * time.Minute, "[]"}} {
			time.Sleep(step.after)
			if got := fmt.Sprint(d.open()); got != step.open {
				t.Errorf("after %v more connections of %s; want %s", step.after, got, step.open)
			}
		}
	})
}

// A task that has ended, and an input request that was answered, keep no
// connection: other users need it.
func TestFinishedCallsDoNotKeepTheirConnection(t *testing.T) {
	pooled(t, Connections{Scope: PerUser, Max: 2, Idle: time.Minute}, func(t *testing.T, r *Router, d *dialled) {
		serve := func(name string, c *mcp.Call, res mcp.Result, err error) {
			t.Helper()
			if _, err := callAs(t.Context(), r, caller(name), mcp.MethodToolsList, `{}`); err != nil {
				t.Error(err)
			}
			one := d.of(name)
			one.change(func() { one.other = func(context.Context, *mcp.Call) (mcp.Result, error) { return res, err } })
			c.Caller = caller(name)
			_, _ = r.Serve(t.Context(), c)
		}
		params := json.RawMessage(`{"name":"a__x"}`)
		serve("ann", &mcp.Call{Method: mcp.MethodToolsCall, Params: params}, mcp.Result{}, &mcp.InputRequired{State: "s", Abandon: func() {}})
		serve("ann", &mcp.Call{Method: mcp.MethodToolsCall, Params: params, State: "s"}, mcp.Result{Body: json.RawMessage(`{}`)}, nil)
		serve("bob", &mcp.Call{Method: mcp.MethodToolsCall, Params: params}, mcp.Result{Type: "task", Body: json.RawMessage(`{"taskId":"t","ttlMs":600000}`)}, nil)
		serve("bob", &mcp.Call{Method: tasks.MethodGet, Params: json.RawMessage(`{"taskId":"a__t"}`)}, mcp.Result{Body: json.RawMessage(`{"taskId":"t","status":"working"}`)}, nil)
		time.Sleep(2 * time.Minute)
		if got := fmt.Sprint(d.open()); got != "[bob]" {
			t.Errorf("while a task runs: connections of %s", got)
		}
		serve("bob", &mcp.Call{Method: tasks.MethodGet, Params: json.RawMessage(`{"taskId":"a__t"}`)}, mcp.Result{Body: json.RawMessage(`{"taskId":"t","status":"completed"}`)}, nil)
		time.Sleep(2 * time.Minute)
		if got := fmt.Sprint(d.open()); got != "[]" {
			t.Errorf("after its end: connections of %s", got)
		}
	})
}

func TestFailedDialIsTriedAgain(t *testing.T) {
	pooled(t, Connections{Scope: PerUser}, func(t *testing.T, r *Router, d *dialled) {
		d.fail = errors.New("no such program")
		if _, err := callAs(t.Context(), r, caller("ann"), mcp.MethodToolsCall, `{"name":"a__x"}`); err == nil || !strings.Contains(err.Error(), "server a: no such program") {
			t.Errorf("the call: %v", err)
		}
		synctest.Wait()
		d.mu.Lock()
		d.fail = nil
		d.mu.Unlock()
		if _, err := callAs(t.Context(), r, caller("ann"), mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
			t.Error(err)
		}
	})
}

// heard collects the notifications of a subscription.
func heard(ctx context.Context, r *Router, who mcp.Caller, filter string) (got func() []string) {
	var mu sync.Mutex
	var all []string
	go func() {
		_, _ = r.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":` + filter + `}`), Caller: who, OnNotification: func(n mcp.Notification) {
			mu.Lock()
			defer mu.Unlock()
			if n.Method != mcp.NotificationSubscriptionsAcknowledged {
				all = append(all, n.Method+" "+string(n.Params))
			}
		}})
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// TestChangesReachTheirUserOnly changes lists and resources at the connection of
// one of two users, also after the connection was lost.
func TestChangesReachTheirUserOnly(t *testing.T) {
	pooled(t, Connections{Scope: PerUser}, func(t *testing.T, r *Router, d *dialled) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		for _, name := range []string{"ann", "bob"} {
			if _, err := callAs(ctx, r, caller(name), mcp.MethodToolsList, `{}`); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * changeInterval)
		anns, bobs := heard(ctx, r, caller("ann"), `{"toolsListChanged":true}`), heard(ctx, r, caller("bob"), `{"toolsListChanged":true}`)
		synctest.Wait()
		(*d.of("ann").notify.Load())(mcp.Notification{Method: mcp.NotificationToolsListChanged})
		synctest.Wait()
		if len(anns()) != 1 || len(bobs()) != 0 {
			t.Errorf("ann heard %q, bob %q", anns(), bobs())
		}
		anns, bobs = heard(ctx, r, caller("ann"), `{"resourceSubscriptions":["a+x:1"]}`), heard(ctx, r, caller("bob"), `{"resourceSubscriptions":["a+x:1"]}`)
		synctest.Wait()
		update := mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"x:1"}`)}
		(*d.of("bob").notify.Load())(update)
		synctest.Wait()
		want := []string{mcp.NotificationResourceUpdated + ` {"uri":"a+x:1"}`}
		if len(anns()) != 0 || !slices.Equal(bobs(), want) {
			t.Errorf("ann heard %q, bob %q", anns(), bobs())
		}
		time.Sleep(time.Hour) // a subscription keeps the connection
		if got := d.open(); !slices.Equal(got, []string{"ann", "bob"}) {
			t.Errorf("connections of %q", got)
		}
		d.of("bob").ended() // subscriptions at it have ended
		time.Sleep(time.Minute)
		if !slices.Equal(bobs(), slices.Repeat(want, len(bobs()))) || len(anns()) != 0 {
			t.Errorf("ann heard %q, bob %q", anns(), bobs())
		}
	})
}

// TestNotificationsOfClientsStayWithTheirUser sends a notification of a client.
func TestNotificationsOfClientsStayWithTheirUser(t *testing.T) {
	pooled(t, Connections{Scope: PerUser}, func(t *testing.T, r *Router, d *dialled) {
		notify := func(name string) {
			_, _ = r.Serve(t.Context(), &mcp.Call{Method: "notifications/roots/list_changed", IsNotification: true, Caller: caller(name)})
		}
		notify("ann") // who has no connection, and gets none
		if got := d.open(); len(got) != 0 {
			t.Errorf("connections of %q", got)
		}
		for _, name := range []string{"ann", "bob"} {
			_, _ = callAs(t.Context(), r, caller(name), mcp.MethodToolsList, `{}`)
		}
		synctest.Wait()
		notify("ann")
		if a, b := d.of("ann").calls.Load(), d.of("bob").calls.Load(); a != 1 || b != 0 {
			t.Errorf("ann's connection got %d notifications, bob's %d", a, b)
		}
	})
}

// TestHungConnectionIsReplaced has the connection of one user hang.
func TestHungConnectionIsReplaced(t *testing.T) {
	pooled(t, Connections{Scope: PerUser}, func(t *testing.T, r *Router, d *dialled) {
		for _, name := range []string{"ann", "bob"} {
			_, _ = callAs(t.Context(), r, caller(name), mcp.MethodToolsList, `{}`)
		}
		first := d.of("ann")
		first.change(func() { first.other = block })
		_, err := callAs(t.Context(), r, caller("ann"), mcp.MethodToolsCall, `{"name":"a__x"}`)
		if err == nil || !strings.Contains(err.Error(), "no response") {
			t.Errorf("the call at the connection that hangs: %v", err)
		}
		if _, err := callAs(t.Context(), r, caller("bob"), mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
			t.Errorf("the call of the other user: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := callAs(t.Context(), r, caller("ann"), mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil || !first.closed.Load() {
			t.Errorf("after a minute: %v, closed %v", err, first.closed.Load())
		}
	})
}

// TestUpdateClosesConnections removes a server whose callers have connections of
// their own, after it was kept.
func TestUpdateClosesConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{}
		a := Upstream{Name: "a", Connections: &Connections{Scope: PerUser, Dial: d.dial}}
		b := Upstream{Name: "b", Handler: &fake{tools: toolsOf(`{"name":"y"}`)}}
		r, err := NewRouter([]Upstream{a}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var busy sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		busy.Go(func() {
			_, _ = callAs(ctx, r, caller("ann"), mcp.MethodToolsCall, `{"name":"a__x","arguments":{"wait":1}}`)
		})
		synctest.Wait()
		for _, servers := range [][]Upstream{{a, b}, {b}} {
			if err := r.Update(servers); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := d.open(); !slices.Equal(got, []string{"ann"}) {
				t.Errorf("during a call connections of %q", got)
			}
		}
		cancel()
		busy.Wait()
		synctest.Wait()
		if got := d.open(); len(got) != 0 {
			t.Errorf("after the call connections of %q", got)
		}
	})
}

// A subscription that is older than the first server with connections of its
// callers hears of its changes.
func TestOlderSubscriptionHearsOfOwnConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{}
		shared := Upstream{Name: "a", Handler: &fake{tools: toolsOf(``)}}
		r, err := NewRouter([]Upstream{shared}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var heard int
		_, err = r.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Caller: caller("ada"), Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`),
			OnNotification: func(mcp.Notification) { heard++ }, Detach: func(func()) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Update([]Upstream{shared, {Name: "b", Connections: &Connections{Scope: PerUser, Dial: d.dial}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList, Caller: caller("ada")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		heard = 0
		(*d.of("ada").notify.Load())(mcp.Notification{Method: mcp.NotificationToolsListChanged})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if heard != 1 {
			t.Errorf("%d notifications; want 1", heard)
		}
	})
}
