package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// counting answers resources/read with how often it was asked.
type counting struct {
	calls int
	cache mcp.Cache
	ask   bool
	size  int
}

func (s *counting) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodSubscriptionsListen {
		c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	}
	if s.ask && c.State == "" {
		return mcp.Result{}, &mcp.InputRequired{State: "again"}
	}
	s.calls++
	who := c.Caller.Principal.Key()
	raw, _ := mcp.Marshal(mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "a", Text: fmt.Sprintf("%d%s%s", s.calls, who, strings.Repeat(".", s.size))}}})
	return mcp.Result{Body: raw, Cache: s.cache}, nil
}

func read(t *testing.T, c *client.Client, uri string) string {
	t.Helper()
	r, err := c.ReadResource(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return r.Contents[0].Text
}

func TestKeptFor(t *testing.T) {
	tests := []struct {
		name  string
		cache mcp.Cache
		o     *client.Options
		ask   bool
		after []string // what is read at 0, 59, 60 and 61 s
	}{
		{"a minute", mcp.Cache{TTL: time.Minute}, nil, false, []string{"1", "1", "2", "2"}},
		{"a minute, by everybody", mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic}, nil, false, []string{"1", "1", "2", "2"}},
		{"not at all", mcp.Cache{}, nil, false, []string{"1", "2", "3", "4"}},
		{"C52 less than not at all", mcp.Cache{TTL: -5 * time.Millisecond}, nil, false, []string{"1", "2", "3", "4"}},
		{"C52 as long as there is", mcp.Cache{TTL: 24 * time.Hour}, nil, false, []string{"1", "1", "1", "1"}},
		{"not wanted", mcp.Cache{TTL: time.Minute}, &client.Options{CacheBytes: -1}, false, []string{"1", "2", "3", "4"}},
		{"made in rounds", mcp.Cache{TTL: time.Minute}, nil, true, []string{"1", "2", "3", "4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &counting{cache: tt.cache, ask: tt.ask}
				c := client.New(s, tt.o)
				var got []string
				for _, pause := range []time.Duration{0, 59 * time.Second, time.Second, time.Second} {
					time.Sleep(pause)
					got = append(got, read(t, c, "a"))
				}
				if fmt.Sprint(got) != fmt.Sprint(tt.after) {
					t.Errorf("read %v, want %v", got, tt.after)
				}
			})
		})
	}
}

func TestKeptUnder(t *testing.T) {
	s := &counting{cache: mcp.Cache{TTL: time.Hour}}
	c := client.New(s, nil)
	do := func(method, params string, o *client.CallOptions) {
		t.Helper()
		if _, err := c.Do(t.Context(), method, json.RawMessage(params), o); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		method, params string
		o              *client.CallOptions
		calls          int
	}{
		{mcp.MethodResourcesRead, `{"uri":"a"}`, nil, 1},
		{mcp.MethodResourcesRead, `{"uri":"b"}`, nil, 2},                                                   // other parameters
		{mcp.MethodResourcesRead, ` { "uri" : "\u0061" } `, nil, 2},                                        // the same, written otherwise
		{mcp.MethodResourcesRead, `{"uri":"a"}`, &client.CallOptions{Meta: mcp.Meta{"x": []byte("1")}}, 3}, // with something beside
		{mcp.MethodToolsList, ``, nil, 4},                                                                  // another method
		{mcp.MethodToolsList, `{}`, nil, 4},                                                                // no parameters are no parameters
		{mcp.MethodToolsList, `{"cursor":""}`, nil, 5},                                                     // but the empty cursor is one
		{mcp.MethodToolsCall, `{"name":"a"}`, nil, 6},
		{mcp.MethodToolsCall, `{"name":"a"}`, nil, 7}, // never kept
		{mcp.MethodPromptsGet, `{"name":"a"}`, nil, 8},
		{mcp.MethodPromptsGet, `{"name":"a"}`, nil, 9},
		{mcp.MethodResourcesRead, `{"uri":"a"}`, nil, 9},
	}
	for i, st := range steps {
		do(st.method, st.params, st.o)
		if s.calls != st.calls {
			t.Fatalf("step %d, %s %s: %d calls, want %d", i, st.method, st.params, s.calls, st.calls)
		}
	}
}

func TestKeptForWhom(t *testing.T) {
	ada, bob := &mcp.Principal{ID: "ada"}, &mcp.Principal{ID: "bob"}
	s := &counting{cache: mcp.Cache{TTL: time.Hour}}
	c := client.New(s, nil)
	asAda, asBob, asAda2 := c.As(ada), c.As(bob), c.As(ada)
	for i, st := range []struct {
		c    *client.Client
		want string
	}{{c, "1"}, {asAda, "2\x00ada"}, {asBob, "3\x00bob"}, {asAda2, "2\x00ada"}, {c, "1"}, {asBob, "3\x00bob"}} {
		if got := read(t, st.c, "a"); got != st.want {
			t.Errorf("private, step %d: read %q, want %q", i, got, st.want)
		}
	}
	s.cache.Scope = mcp.ScopePublic
	for i, st := range []struct {
		c    *client.Client
		want string
	}{{asBob, "4\x00bob"}, {asAda, "4\x00bob"}, {c, "4\x00bob"}} {
		if got := read(t, st.c, "b"); got != st.want {
			t.Errorf("public, step %d: read %q, want %q", i, got, st.want)
		}
	}
}

func TestKeptWithinBounds(t *testing.T) {
	s := &counting{cache: mcp.Cache{TTL: time.Hour}, size: 10_000}
	c := client.New(s, &client.Options{CacheBytes: 35_000})
	for _, uri := range []string{"a", "b", "c"} {
		read(t, c, uri)
	}
	read(t, c, "a") // now b is what was not used for longest
	read(t, c, "d") // b goes
	for i, st := range []struct {
		uri   string
		calls int
	}{{"a", 4}, {"c", 4}, {"d", 4}, {"b", 5}} {
		if read(t, c, st.uri); s.calls != st.calls {
			t.Errorf("step %d, %s: %d calls, want %d", i, st.uri, s.calls, st.calls)
		}
	}
	s.size = 40_000
	read(t, c, "huge")
	read(t, c, "huge")
	if s.calls != 7 {
		t.Errorf("what does not fit was kept")
	}
	if read(t, c, "b"); s.calls != 7 {
		t.Errorf("what does not fit has driven out the rest")
	}
}

// Many goroutines share one client; the race detector watches.
func TestSharedByMany(t *testing.T) {
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodToolsCall {
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"progress":1}`)})
			return mcp.Result{Body: sumBody}, nil
		}
		b := `{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],"contents":[]}`
		return mcp.Result{Body: json.RawMessage(b), Cache: mcp.Cache{TTL: time.Hour}}, nil
	})
	c := client.New(h, &client.Options{CacheBytes: 4000})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			own := c.As(&mcp.Principal{ID: fmt.Sprint(i % 3)})
			for n := range 50 {
				heard := 0
				_, err1 := c.CallTool(t.Context(), "t", nil, &client.CallOptions{Progress: func(mcp.ProgressParams) { heard++ }})
				err2 := drain(own.Tools(t.Context()))
				_, err3 := own.ReadResource(t.Context(), fmt.Sprint(n%7))
				err4 := drain(c.Tools(t.Context()))
				if err := errors.Join(err1, err2, err3, err4); err != nil || heard != 1 {
					t.Errorf("%v, heard %d reports of progress", err, heard)
				}
			}
		})
	}
	wg.Wait()
}

// newsServer tells what is put into news to its one listener.
type newsServer struct {
	calls   map[string]int
	news    chan mcp.Notification
	between func() // while a call is served
}

func (s *newsServer) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method != mcp.MethodSubscriptionsListen {
		s.calls[c.Method]++
		if s.between != nil {
			s.between()
		}
		b := `{"tools":[],"prompts":[],"resources":[],"resourceTemplates":[],"contents":[]}`
		return mcp.Result{Body: json.RawMessage(b), Cache: mcp.Cache{TTL: time.Hour}}, nil
	}
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
	for {
		select {
		case n := <-s.news:
			c.Notify(n)
		case <-ctx.Done():
			return mcp.Result{}, ctx.Err()
		}
	}
}

var allNews = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"x:a"}}

func TestNewsInvalidates(t *testing.T) {
	updated := func(uri string) mcp.Notification {
		return mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"` + uri + `"}`)}
	}
	tests := []struct {
		note  mcp.Notification
		stale []string
	}{
		{mcp.Notification{Method: mcp.NotificationToolsListChanged}, []string{mcp.MethodToolsList}},
		{mcp.Notification{Method: mcp.NotificationPromptsListChanged}, []string{mcp.MethodPromptsList}},
		{mcp.Notification{Method: mcp.NotificationResourcesListChanged}, []string{mcp.MethodResourcesList, mcp.MethodResourceTemplatesList}},
		{updated("x:a"), []string{mcp.MethodResourcesRead}},
		{updated("x:a/part"), []string{mcp.MethodResourcesRead}},
		{updated("x:b"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.note.Method+string(tt.note.Params), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &newsServer{calls: map[string]int{}, news: make(chan mcp.Notification)}
				c := client.New(s, nil)
				ask := func() {
					for _, err := range []error{
						drain(c.Tools(t.Context())), drain(c.Prompts(t.Context())), drain(c.Resources(t.Context())), drain(c.ResourceTemplates(t.Context())),
					} {
						if err != nil {
							t.Fatal(err)
						}
					}
					if _, err := c.ReadResource(t.Context(), "x:a"); err != nil {
						t.Fatal(err)
					}
				}
				ended := make(chan error)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { ended <- c.Listen(ctx, allNews, func(mcp.Notification) {}) }()
				synctest.Wait()
				ask()
				ask()
				s.news <- tt.note
				synctest.Wait()
				ask()
				want := map[string]int{mcp.MethodToolsList: 1, mcp.MethodPromptsList: 1, mcp.MethodResourcesList: 1, mcp.MethodResourceTemplatesList: 1, mcp.MethodResourcesRead: 1}
				for _, m := range tt.stale {
					want[m]++
				}
				if fmt.Sprint(s.calls) != fmt.Sprint(want) {
					t.Errorf("calls %v, want %v", s.calls, want)
				}
				cancel()
				<-ended
			})
		})
	}
}

// News that comes while a list is being fetched means that the list may be old
// already: it is not kept.
func TestNewsOvertakesAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &newsServer{calls: map[string]int{}, news: make(chan mcp.Notification)}
		c := client.New(s, nil)
		ended := make(chan error)
		go func() { ended <- c.Listen(t.Context(), allNews, func(mcp.Notification) {}) }()
		synctest.Wait()
		s.between = func() { s.news <- mcp.Notification{Method: mcp.NotificationToolsListChanged}; synctest.Wait() }
		if err := drain(c.Tools(t.Context())); err != nil {
			t.Fatal(err)
		}
		s.between = nil
		for range 2 {
			if err := drain(c.Tools(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.calls[mcp.MethodToolsList]; n != 2 {
			t.Errorf("%d calls, want 2: the first result must not be kept, the second must", n)
		}
		c.Close()
		if err := <-ended; err != client.ErrClosed {
			t.Errorf("listening ended with %v", err)
		}
	})
}

// Results of an extension are cached if the server says so, until a list or a
// resource changes. Fresh asks the server, and caches what it says.
func TestExtensionResultsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &newsServer{calls: map[string]int{}, news: make(chan mcp.Notification)}
		c := client.New(s, nil)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- c.Listen(ctx, allNews, func(mcp.Notification) {}) }()
		synctest.Wait()
		calls := 0
		do := func(o *client.CallOptions, want int) {
			t.Helper()
			if _, err := c.Do(t.Context(), "x/list", map[string]int{"a": 1}, o); err != nil {
				t.Fatal(err)
			}
			if calls = s.calls["x/list"]; calls != want {
				t.Errorf("%d calls, want %d", calls, want)
			}
		}
		do(nil, 1)
		do(nil, 1)
		do(&client.CallOptions{Fresh: true}, 2)
		do(nil, 2)
		for i, n := range []string{mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged} {
			s.news <- mcp.Notification{Method: n}
			synctest.Wait()
			do(nil, 3+i)
			do(nil, 3+i)
		}
		s.between = func() { s.news <- mcp.Notification{Method: mcp.NotificationToolsListChanged}; synctest.Wait() }
		do(&client.CallOptions{Fresh: true}, 6)
		s.between = nil
		do(nil, 7) // the list changed while it was being requested
		cancel()
		<-ended
	})
}
