package server_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A mailbox keeps the notes that arrive.
type mailbox struct {
	mu    sync.Mutex
	notes []string
}

func (m *mailbox) put(n mcp.Notification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notes = append(m.notes, strings.TrimSuffix(strings.TrimPrefix(n.Method, "notifications/")+" "+string(n.Params), " "))
}

// take empties the mailbox.
func (m *mailbox) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := strings.Join(m.notes, "\n")
	m.notes = nil
	return all
}

func listenTo(filter string, side func(mcp.Notification)) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: []byte(`{"notifications":` + filter + `}`), OnNotification: side}
}

// detached opens a subscription that the test holds.
func detached(s *server.Server, c *mcp.Call) (stop func() mcp.Result, err error) {
	held := *c
	var end func()
	held.Detach = func(stop func()) { end = stop }
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := s.Serve(ended, &held)
	if err != nil {
		return nil, err
	}
	if end == nil {
		return nil, errors.New("the server did not detach")
	}
	return func() mcp.Result { end(); return res }, nil
}

// everything offers one of each, so that all news can be had.
func everything(o server.Options) *server.Server {
	s, _ := newServer(o)
	addTools(s, "t")
	addPrompt[nothing, string]("p")(s)
	resource(mcp.Resource{URI: "a:1", Name: "r"}, say(""))(s)
	return s
}

const (
	ack       = "subscriptions/acknowledged "
	toolNews  = "tools/list_changed"
	promptNew = "prompts/list_changed"
	resNews   = "resources/list_changed"
)

// Both ways to listen tell the same.
func TestNews(t *testing.T) {
	ways := map[string]func(*testing.T, *server.Server, *mcp.Call) (stop func()){
		"listen": func(t *testing.T, s *server.Server, c *mcp.Call) func() {
			stop, err := detached(s, c)
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if res := stop(); res.Server == nil || res.Server.Name == "" {
					t.Errorf("it ends with %+v", res)
				}
			}
		},
		"call": func(t *testing.T, s *server.Server, c *mcp.Call) func() {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				if res, err := s.Serve(ctx, c); err != nil || res.Body != nil {
					t.Errorf("the call came to %s, %v", res.Body, err)
				}
			}()
			return func() { cancel(); <-done }
		},
	}
	all := `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`
	many := func(s *server.Server) {
		for i := range 100 {
			addTools(s, fmt.Sprint("t", i))
			s.RemoveTools(fmt.Sprint("t", i))
			s.ResourceUpdated("a:1")
		}
	}
	rows := []struct {
		name, filter, ack string
		change            func(*server.Server)
		want              string
	}{
		{"many changes make one note", all, all, many, toolNews},
		{"each kind has its own", all, all, func(s *server.Server) {
			addTools(s, "t")
			s.RemovePrompts("p")
			s.RemoveResources("a:1")
			template(mcp.ResourceTemplate{URITemplate: "b:{x}", Name: "r"}, say(""))(s)
		}, strings.Join([]string{toolNews, promptNew, resNews}, "\n")},
		{"only what was asked for", `{"toolsListChanged":true}`, `{"toolsListChanged":true}`, func(s *server.Server) { s.RemovePrompts("p"); s.RemoveResources("a:1") }, ""}, // M36
		{"what changed nothing", all, all, func(s *server.Server) { s.RemoveTools("x"); s.RemovePrompts() }, ""},
		{"resources", `{"resourceSubscriptions":["a:1","a:2"]}`, `{"resourceSubscriptions":["a:1","a:2"]}`, func(s *server.Server) {
			for range 50 {
				s.ResourceUpdated("a:3")
				s.ResourceUpdated("a:2")
				s.ResourceUpdated("a:1")
			}
			addTools(s, "x")
		}, `resources/updated {"uri":"a:1"}` + "\n" + `resources/updated {"uri":"a:2"}`},
		{"other kinds are not promised", `{"taskStatus":["1"],"toolsListChanged":true}`, `{"toolsListChanged":true}`, many, toolNews},
		{"nothing", `{}`, `{}`, many, ""},
	}
	for way, listen := range ways {
		for _, row := range rows {
			t.Run(way+"/"+row.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := everything(server.Options{})
					many(s) // nobody hears of it
					var box mailbox
					stop := listen(t, s, listenTo(row.filter, box.put))
					synctest.Wait()
					expect(t, "the beginning", box.take(), ack+`{"notifications":`+row.ack+`}`)
					time.Sleep(time.Minute)
					expect(t, "what was before", box.take(), "")
					row.change(s)
					synctest.Wait()
					expect(t, "at once", box.take(), "")
					time.Sleep(time.Minute)
					expect(t, "the news", box.take(), row.want)
					row.change(s)
					stop()
					time.Sleep(time.Minute)
					expect(t, "after the end", box.take(), "")
				})
			})
		}
	}
}

func TestNewsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything(server.Options{ChangeDelay: time.Second})
		var box mailbox
		stop, err := detached(s, listenTo(`{"toolsListChanged":true}`, box.put))
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		box.take()
		for range 25 { // a change each 100 ms
			addTools(s, "x")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		expect(t, "2.5 s of changes", box.take(), strings.Join([]string{toolNews, toolNews, toolNews}, "\n"))
	})
}

// A change is announced after those before it, to all subscriptions: one that is
// slow delays the next announcement and does not let it overtake.
func TestChangesAreAnnouncedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything(server.Options{ChangeDelay: time.Second})
		var heard []string
		var mu sync.Mutex
		for range 20 {
			stop, err := detached(s, listenTo(`{"resourceSubscriptions":["a:1","a:2"]}`, func(n mcp.Notification) {
				if n.Method == mcp.NotificationResourceUpdated {
					time.Sleep(time.Minute)
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, string(n.Params))
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
		}
		s.ResourceUpdated("a:1")
		time.Sleep(2 * time.Second)
		s.ResourceUpdated("a:2")
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		first, second := strings.Repeat(`{"uri":"a:1"}`, 20), strings.Repeat(`{"uri":"a:2"}`, 20)
		expect(t, "all subscriptions", strings.Join(heard, ""), first+second)
	})
}

func TestListenRefuses(t *testing.T) {
	s := everything(server.Options{})
	uris := strings.Repeat(`"a:1",`, 1000)
	rows := []struct{ params, want string }{
		{``, `-32602 notifications: missing`},
		{`{}`, `-32602 notifications: missing`},
		{`{"notifications":1}`, `…-32602 `},
		{`{"notifications":null}`, `-32602 notifications: expected an object`}, // L30
		{`{"notifications":[]}`, `…-32602 `},
		{`{"notifications":{"toolsListChanged":"yes"}}`, `…-32602 `},
		{`{"notifications":{"resourceSubscriptions":[` + uris + `"a:1"]}}`, `-32602 resourceSubscriptions: 1001 resources; at most 1000 are allowed`}, // M34
	}
	for _, row := range rows {
		expect(t, row.params, ask(t, s, mcp.MethodSubscriptionsListen, row.params), row.want)
		c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: []byte(row.params), OnNotification: func(n mcp.Notification) { t.Errorf("told %v", n) }}
		if stop, err := detached(s, c); err == nil || stop != nil {
			t.Errorf("%s: Listen took it", row.params)
		}
	}
	var box mailbox
	stop, err := detached(s, listenTo(`{"resourceSubscriptions":[`+uris[:len(uris)-1]+`]}`, box.put))
	if err != nil {
		t.Fatalf("1000 resources: %v", err)
	}
	stop()
}

// What a server does not offer, or a caller may not see, is not acknowledged.
func TestHonoured(t *testing.T) {
	asked := `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:open1","a:secret1","secret1:x","zzz"]}`
	bare, _ := newServer(server.Options{})
	quiet, _ := newServer(server.Options{Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}, Resources: &mcp.ResourcesCapability{ListChanged: true}}})
	g := guarded(t, 10)
	g.RemoveTemplates("{+any}")
	rows := []struct {
		name string
		s    *server.Server
		who  string
		want string
	}{
		{"nothing offered", bare, "x", `{}`},
		{"a quiet list", quiet, "x", `{"resourcesListChanged":true}`},
		{"staff", g, "staff", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:open1"]}`},
		{"boss", g, "boss", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:open1","a:secret1","secret1:x"]}`},
	}
	for _, row := range rows {
		var box mailbox
		c := listenTo(asked, box.put)
		as(row.who)(c)
		stop, err := detached(row.s, c)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, row.name, box.take(), ack+`{"notifications":`+row.want+`}`)
		stop()
	}
}

// A subscriber that is slow to read waits alone, and finds the news once.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything(server.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		gate := make(chan struct{})
		var slow, fast mailbox
		done := make(chan error)
		go func() {
			_, err := s.Serve(ctx, listenTo(`{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}`, func(n mcp.Notification) { <-gate; slow.put(n) }))
			done <- err
		}()
		synctest.Wait()
		stop, err := detached(s, listenTo(`{"toolsListChanged":true}`, fast.put))
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			addTools(s, "x")
			s.ResourceUpdated("a:1")
			time.Sleep(time.Second)
			expect(t, "a call meanwhile", callTool(t, s, "x", ""), `…"text":"x"`)
		}
		if n := strings.Count(fast.take(), toolNews); n != 10 {
			t.Errorf("the fast one heard %d times", n)
		}
		close(gate)
		synctest.Wait()
		expect(t, "the slow one", slow.take(), ack+`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}}`+"\n"+toolNews+"\n"+`resources/updated {"uri":"a:1"}`)
		stop()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// No news comes after stop has returned, also when it is being told just then.
func TestStopWhileTelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything(server.Options{})
		for range 50 { // who of the two hears first is up to chance
			var stops [2]func()
			var stopped [2]bool
			for i := range stops {
				stop, err := detached(s, listenTo(`{"toolsListChanged":true}`, func(n mcp.Notification) {
					switch {
					case n.Method == mcp.NotificationSubscriptionsAcknowledged:
					case stopped[i]:
						t.Error("told after stop")
					default:
						stopped[1-i] = true
						stops[1-i]()
					}
				}))
				if err != nil {
					t.Fatal(err)
				}
				stops[i] = func() { stop() }
			}
			addTools(s, "x")
			time.Sleep(time.Second)
			stops[0]()
			stops[1]()
		}
	})
}

// A change that comes while the acknowledgement is on its way waits for it.
func TestAcknowledgedFirst(t *testing.T) {
	s := everything(server.Options{ChangeDelay: 1})
	heard := make(chan string, 9)
	stop, err := detached(s, listenTo(`{"toolsListChanged":true}`, func(n mcp.Notification) {
		if n.Method == mcp.NotificationSubscriptionsAcknowledged {
			addTools(s, "x")
			for range 10_000 {
				runtime.Gosched()
			}
		}
		heard <- n.Method
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	expect(t, "first", <-heard, mcp.NotificationSubscriptionsAcknowledged)
	expect(t, "second", <-heard, mcp.NotificationToolsListChanged)
}

// A subscription that was stopped is forgotten.
func TestStopForgets(t *testing.T) {
	s := everything(server.Options{})
	box := new(mailbox)
	gone := weak.Make(box)
	stop, err := detached(s, listenTo(`{}`, box.put))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	box, stop = nil, nil
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the server still holds the subscription")
	}
	runtime.KeepAlive(s)
	_, _ = box, stop
}

func TestMiddleware(t *testing.T) {
	var order []string
	wrap := func(name string) mcp.Middleware {
		return func(h mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
				order = append(order, name+" "+c.Method)
				if c.Method == "panic" {
					panic(name)
				}
				return h.Serve(ctx, c)
			})
		}
	}
	s, _ := newServer(server.Options{Middleware: []mcp.Middleware{wrap("first"), wrap("second")}})
	ask(t, s, mcp.MethodDiscover, "")
	expect(t, "order", fmt.Sprint(order), "[first server/discover second server/discover]")
	expect(t, "panic", ask(t, s, "panic", ""), "-32603 internal error while serving panic")
	if _, err := detached(s, listenTo(`{}`, nil)); err != nil {
		t.Errorf("a subscription behind middleware: %v", err)
	}
	expect(t, "order", fmt.Sprint(order[len(order)-2:]), "[first subscriptions/listen second subscriptions/listen]")
}
