package streamclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// town is a server that uses everything a client can do.
type town struct {
	entered, cancelled chan struct{}
	listening          chan struct{}
	news               chan mcp.Notification
}

func newTown() *town {
	return &town{entered: make(chan struct{}, 1), cancelled: make(chan struct{}, 1), listening: make(chan struct{}, 10), news: make(chan mcp.Notification)}
}

func (w *town) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodDiscover:
		return mcp.Result{
			Body:   json.RawMessage(`{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}}`),
			Server: &mcp.Implementation{Name: "town", Version: "1"},
		}, nil
	case mcp.MethodToolsList:
		return mcp.Result{Body: json.RawMessage(`{"tools":[{"name":"headers","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`)}, nil
	case mcp.MethodToolsCall:
		name, _, err := mcp.DecodeCallToolParams(c.Params)
		if err != nil {
			return mcp.Result{}, err
		}
		return w.tool(ctx, c, name)
	case mcp.MethodSubscriptionsListen:
		c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
		w.listening <- struct{}{}
		for {
			select {
			case n := <-w.news:
				c.Notify(n)
			case <-ctx.Done():
				return mcp.Result{}, nil
			}
		}
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

func (w *town) tool(ctx context.Context, c *mcp.Call, name string) (mcp.Result, error) {
	ask := func(q mcp.InputRequest) (mcp.Result, error) {
		a, err := c.Ask("q", q)
		if err != nil {
			return mcp.Result{}, err
		}
		return said(string(a))
	}
	switch name {
	case "greet":
		return ask(mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"polite":{"type":"boolean","default":true}}}}`)})
	case "sample":
		return ask(mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}`)})
	case "roots":
		return ask(mcp.RootsRequest())
	case "work":
		for i := range 3 {
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: fmt.Appendf(nil, `{"progress":%d,"total":3}`, i+1)})
		}
		c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"warning","data":"nearly"}`)})
		return said("done")
	case "headers":
		return said(c.Headers["region"])
	case "hang":
		w.entered <- struct{}{}
		<-ctx.Done()
		w.cancelled <- struct{}{}
		return mcp.Result{}, ctx.Err()
	}
	return mcp.Result{}, mcp.InvalidParams("no tool is called %q", name)
}

func said(text string) (mcp.Result, error) {
	raw, err := mcp.Marshal(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}})
	return mcp.Result{Body: raw}, err
}

// serve serves h over HTTP/1.1, or over HTTP/2.
func serve(t *testing.T, h mcp.Handler, two bool) *streamclient.Endpoint {
	t.Helper()
	handler, err := streamable.NewHandler(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	e := &streamclient.Endpoint{}
	if two {
		s.EnableHTTP2 = true
		s.StartTLS()
		e.HTTP = s.Client()
	} else {
		s.Start()
	}
	e.URL = s.URL
	t.Cleanup(func() {
		handler.Shutdown()
		s.Close()
	})
	return e
}

// everywhere runs a test over both versions of HTTP, in every revision.
func everywhere(t *testing.T, test func(t *testing.T, rev mcp.Revision, w *town, e *streamclient.Endpoint)) {
	for _, two := range []bool{false, true} {
		for _, rev := range mcp.Revisions() {
			t.Run(fmt.Sprintf("%s over HTTP/%d", rev, map[bool]int{false: 1, true: 2}[two]), func(t *testing.T) {
				w := newTown()
				e := serve(t, w, two)
				e.Era = era.DialOptions{Known: rev}
				test(t, rev, w, e)
			})
		}
	}
}

func dial(t *testing.T, e mcp.Dialer, o *client.Options) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c
}

func TestEverythingOverHTTP(t *testing.T) {
	everywhere(t, func(t *testing.T, rev mcp.Revision, w *town, e *streamclient.Endpoint) {
		var mu sync.Mutex
		var lines []string
		c := dial(t, e, &client.Options{
			Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
				return e.Accept(map[string]string{"name": "Ada"})
			},
			Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.NewSamplingContent(mcp.Text("ho")), Model: "m"}, nil
			}},
			Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///x"}}, nil },
			Logging: &client.Logging{OnMessage: func(_ context.Context, m mcp.LogMessage) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, string(m.Data))
			}},
		})
		d, err := c.Discover(t.Context())
		if err != nil || d.Server == nil || d.Server.Name != "town" {
			t.Errorf("Discover: %+v, %v", d, err)
		}
		if all, err := client.All(c.Tools(t.Context())); err != nil || len(all) != 1 {
			t.Errorf("Tools: %v, %v", all, err)
		}
		region := ""
		if rev == mcp.Revisions()[0] {
			region = "Köln" // only the newest repeats arguments
		}
		if got, err := client.Call[string](t.Context(), c, "headers", map[string]string{"region": "Köln"}, nil); err != nil || got != region {
			t.Errorf("headers: %q, %v", got, err)
		}
		asks := map[string]string{
			"sample": `{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}`,
			"roots":  `{"roots":[{"uri":"file:///x"}]}`,
		}
		if rev >= mcp.Rev20250618 {
			asks["greet"] = `{"action":"accept","content":{"name":"Ada","polite":true}}`
		}
		for name, want := range asks {
			if got, err := client.Call[string](t.Context(), c, name, nil, nil); err != nil || got != want {
				t.Errorf("%s: %s, %v; want %s", name, got, err, want)
			}
		}
		var progress []float64
		res, err := c.CallTool(t.Context(), "work", nil, &client.CallOptions{Progress: func(p mcp.ProgressParams) { progress = append(progress, p.Progress) }})
		if err != nil || res.Content.Text() != "done" || fmt.Sprint(progress) != "[1 2 3]" {
			t.Errorf("work: %+v, %v, progress %v", res, err, progress)
		}
		mu.Lock()
		if fmt.Sprint(lines) != `["nearly"]` {
			t.Errorf("lines %v", lines)
		}
		mu.Unlock()
		_, err = c.CallTool(t.Context(), "nothing", nil, nil)
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Local || e.Code != mcp.CodeInvalidParams {
			t.Errorf("nothing: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-w.entered
			cancel()
		}()
		if _, err = c.CallTool(ctx, "hang", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("hang: %v", err)
		}
		<-w.cancelled // the far side heard of it
	})
}

func TestListenOverHTTP(t *testing.T) {
	everywhere(t, func(t *testing.T, rev mcp.Revision, w *town, e *streamclient.Endpoint) {
		c := dial(t, e, nil)
		heard := make(chan mcp.Notification, 10)
		ended := make(chan error)
		go func() {
			ended <- c.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard <- n })
		}()
		if n := <-heard; n.Method != mcp.NotificationSubscriptionsAcknowledged {
			t.Errorf("heard %q first", n.Method)
		}
		<-w.listening
		w.news <- mcp.Notification{Method: mcp.NotificationToolsListChanged}
		if n := <-heard; n.Method != mcp.NotificationToolsListChanged {
			t.Errorf("heard %q", n.Method)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, client.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
	})
}

// A server of ours is met in the newest era without being told.
func TestMeetOverHTTP(t *testing.T) {
	c, err := serve(t, newTown(), false).Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Revision() != mcp.Revisions()[0] {
		t.Errorf("revision %s", c.Revision())
	}
}

// Many callers share a connection.
func TestManyCallsOverHTTP(t *testing.T) {
	everywhere(t, func(t *testing.T, rev mcp.Revision, w *town, e *streamclient.Endpoint) {
		c := dial(t, e, &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return e.Accept(map[string]string{"name": "Ada"})
		}})
		name := "greet"
		if rev < mcp.Rev20250618 {
			name = "work"
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 5 {
					if _, err := client.Call[string](t.Context(), c, name, nil, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Closing ends calls that are open, at once.
func TestCloseOverHTTP(t *testing.T) {
	everywhere(t, func(t *testing.T, rev mcp.Revision, w *town, e *streamclient.Endpoint) {
		c := dial(t, e, nil)
		failed := make(chan error)
		go func() {
			_, err := c.CallTool(context.Background(), "hang", nil, nil)
			failed <- err
		}()
		<-w.entered
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("the call failed with %v", err)
		}
	})
}

// A server that has forgotten all sessions, as after a restart, is met again.
func TestRestartOverHTTP(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			var mu sync.Mutex
			var now *streamable.Handler
			restart := func() {
				h, err := streamable.NewHandler(newTown(), nil)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if now != nil {
					now.Shutdown()
				}
				now = h
			}
			restart()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				h := now
				mu.Unlock()
				h.ServeHTTP(w, r)
			}))
			defer s.Close()
			defer func() { now.Shutdown() }()
			c := dial(t, &streamclient.Endpoint{URL: s.URL, Era: era.DialOptions{Known: rev}}, &client.Options{IdleTimeout: 10 * time.Second})
			defer c.Close()
			for range 3 {
				if got, err := client.Call[string](t.Context(), c, "work", nil, nil); err != nil || got != "done" {
					t.Errorf("%s, %v", got, err)
				}
				restart()
			}
		})
	}
}
