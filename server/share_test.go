package server_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A hub is a topic for several servers in one process.
type hub struct {
	mu   sync.Mutex
	subs []*spoke
}

type spoke struct {
	h       *hub
	receive func([]byte)
	lost    func()
	sent    int
}

func (s *spoke) Publish(data []byte) {
	s.h.mu.Lock()
	s.sent++
	others := slices.DeleteFunc(slices.Clone(s.h.subs), func(o *spoke) bool { return o == s || o.receive == nil })
	s.h.mu.Unlock()
	for _, o := range others {
		o.receive(data)
	}
}

func (s *spoke) Subscribe(receive func([]byte), lost func()) (func(), error) {
	s.receive, s.lost = receive, lost
	return func() {
		s.h.mu.Lock()
		defer s.h.mu.Unlock()
		s.receive = nil
	}, nil
}

// shared returns servers that share their changes.
func shared(t *testing.T, n int, o *server.Options) (servers []*server.Server, spokes []*spoke) {
	t.Helper()
	h := new(hub)
	for range n {
		s := server.New(mcp.Implementation{Name: "s", Version: "1"}, o)
		addPlain(s, "first")
		for _, uri := range []string{"test://one", "test://two"} {
			if err := s.AddResource(mcp.Resource{URI: uri, Name: uri}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
				return nil, nil
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
		sp := &spoke{h: h}
		h.subs = append(h.subs, sp)
		if err := s.ShareChanges(sp); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		servers, spokes = append(servers, s), append(spokes, sp)
	}
	return servers, spokes
}

func addPlain(s *server.Server, name string) {
	server.AddTool(s, name, "A tool", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
}

// hear subscribes a caller and returns what it is notified of.
func hear(t *testing.T, s *server.Server, caller mcp.Caller, f mcp.SubscriptionFilter) <-chan string {
	t.Helper()
	heard := make(chan string, 100)
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: f})
	if err != nil {
		t.Fatal(err)
	}
	c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: caller, Detach: func(stop func()) { t.Cleanup(stop) },
		OnNotification: func(n mcp.Notification) { heard <- n.Method + " " + string(n.Params) }}
	if _, err := s.Serve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	<-heard // the acknowledgement
	return heard
}

func next(t *testing.T, heard <-chan string) string {
	t.Helper()
	select {
	case n := <-heard:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nothing heard in a minute")
		return ""
	}
}

// A change at one instance reaches the subscribers at all, once, and those who
// did not subscribe to it not at all.
func TestChangesReachOtherInstances(t *testing.T) {
	servers, spokes := shared(t, 3, nil)
	var tools, one []<-chan string
	for _, s := range servers {
		tools = append(tools, hear(t, s, mcp.Caller{}, mcp.SubscriptionFilter{ToolsListChanged: true}))
		one = append(one, hear(t, s, mcp.Caller{}, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://one"}}))
	}
	for i, s := range servers {
		s.ResourceUpdated("test://two")
		s.ResourceUpdated("test://one")
		for _, c := range one {
			if got := next(t, c); got != mcp.NotificationResourceUpdated+` {"uri":"test://one"}` {
				t.Errorf("from instance %d: %s", i, got)
			}
		}
		addPlain(s, "second")
		for _, c := range tools {
			if got := next(t, c); got != mcp.NotificationToolsListChanged+" " {
				t.Errorf("from instance %d: %s", i, got)
			}
		}
		if spokes[i].sent != 2 {
			t.Errorf("instance %d has published %d messages", i, spokes[i].sent)
		}
	}
	for _, c := range append(tools, one...) {
		if len(c) > 0 {
			t.Errorf("heard again: %s", <-c)
		}
	}
}

// If messages may have been missed, subscribers are notified of everything that
// they subscribed to.
func TestMissedChangesCountAsChanges(t *testing.T) {
	servers, spokes := shared(t, 1, nil)
	heard := hear(t, servers[0], mcp.Caller{}, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://one"}})
	spokes[0].lost()
	got := []string{next(t, heard), next(t, heard)}
	slices.Sort(got)
	if !slices.Equal(got, []string{mcp.NotificationResourceUpdated + ` {"uri":"test://one"}`, mcp.NotificationToolsListChanged + " "}) {
		t.Errorf("heard %q", got)
	}
}

// A caller does not hear of changes at other instances that it may not know.
func TestSharedChangesObeyAllow(t *testing.T) {
	secret := func(c *mcp.Caller, f server.Feature) bool {
		return f.Name != "secret" || c.Principal.Key() == (&mcp.Principal{ID: "root"}).Key()
	}
	servers, _ := shared(t, 2, &server.Options{Allow: secret})
	filter := mcp.SubscriptionFilter{ToolsListChanged: true}
	root := hear(t, servers[1], mcp.Caller{Principal: &mcp.Principal{ID: "root"}}, filter)
	other := hear(t, servers[1], mcp.Caller{}, filter)
	addPlain(servers[0], "secret")
	next(t, root)
	if len(other) > 0 {
		t.Errorf("told of a secret: %s", <-other)
	}
	addPlain(servers[0], "public")
	next(t, root)
	next(t, other)
}
