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
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// in connects a client to a server over a pipe in one revision.
func in(t *testing.T, rev mcp.Revision, h mcp.Handler, o *client.Options) *client.Client {
	t.Helper()
	s, err := era.NewServer(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	c, err := client.Dial(t.Context(), dialerFunc(func(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
		near, far := jsonrpc.Pipe()
		wg.Go(func() {
			if err := s.ServeStream(context.Background(), far); err != nil {
				t.Errorf("serving: %v", err)
			}
		})
		return era.Dial(ctx, near, p, &era.DialOptions{Known: rev})
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		wg.Wait()
	})
	return c
}

func inEveryRevision(t *testing.T, test func(t *testing.T, rev mcp.Revision)) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, rev) })
		})
	}
}

// world is a server that uses everything a client can do.
type world struct {
	cancelled chan string // why a call was cancelled
	news      chan mcp.Notification
}

func (w *world) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodDiscover:
		return mcp.Result{
			Body:   json.RawMessage(`{"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{}}}`),
			Server: &mcp.Implementation{Name: "world", Version: "1"},
			Cache:  mcp.Cache{TTL: time.Minute},
		}, nil
	case mcp.MethodToolsList:
		return mcp.Result{Body: json.RawMessage(`{"tools":[{"name":"one","inputSchema":{"type":"object"},"outputSchema":{"type":"integer"}}]}`)}, nil
	case mcp.MethodToolsCall:
		name, _, err := mcp.DecodeCallToolParams(c.Params)
		if err != nil {
			return mcp.Result{}, err
		}
		return w.tool(ctx, c, name)
	case mcp.MethodSubscriptionsListen:
		c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
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

func (w *world) tool(ctx context.Context, c *mcp.Call, name string) (mcp.Result, error) {
	switch name {
	case "one":
		return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"1"}],"structuredContent":1}`)}, nil
	case "greet":
		a, err := c.Ask("who", form(`"name":{"type":"string"},"polite":{"type":"boolean","default":true}`))
		if err != nil {
			return mcp.Result{}, err
		}
		return text(string(a)), nil
	case "sample":
		a, err := c.Ask("s", mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}`)})
		if err != nil {
			return mcp.Result{}, err
		}
		return text(string(a)), nil
	case "roots":
		a, err := c.Ask("r", mcp.RootsRequest())
		if err != nil {
			return mcp.Result{}, err
		}
		return text(string(a)), nil
	case "work":
		for i := range 3 {
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: fmt.Appendf(nil, `{"progress":%d,"total":3}`, i+1)})
		}
		c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"warning","data":"nearly"}`)})
		return text("done"), nil
	case "hang":
		<-ctx.Done()
		w.cancelled <- "yes"
		return mcp.Result{}, ctx.Err()
	}
	return mcp.Result{}, mcp.InvalidParams("no tool is called %q", name)
}

func TestEverythingInEveryRevision(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, rev mcp.Revision) {
		w := &world{cancelled: make(chan string, 1), news: make(chan mcp.Notification)}
		var lines []string
		c := in(t, rev, w, &client.Options{
			Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
				return e.Accept(map[string]string{"name": "Ada"})
			},
			Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.NewSamplingContent(mcp.Text("ho")), Model: "m"}, nil
			}},
			Roots:   func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///x"}}, nil },
			Logging: &client.Logging{OnMessage: func(_ context.Context, m mcp.LogMessage) { lines = append(lines, string(m.Data)) }},
		})
		d, err := c.Discover(t.Context())
		if err != nil || d.Server == nil || d.Server.Name != "world" {
			t.Errorf("Discover: %+v, %v", d, err)
		}
		if n, err := client.Call[int](t.Context(), c, "one", nil, nil); err != nil || n != 1 {
			t.Errorf("one: %v, %v", n, err)
		}
		if all, err := client.All(c.Tools(t.Context())); err != nil || len(all) != 1 {
			t.Errorf("Tools: %v, %v", all, err)
		}
		if n, err := client.Call[int](t.Context(), c, "one", nil, nil); err != nil || n != 1 {
			t.Errorf("one, checked: %v, %v", n, err)
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
		if err != nil || res.Content.Text() != "done" || fmt.Sprint(progress) != "[1 2 3]" || fmt.Sprint(lines) != `["nearly"]` {
			t.Errorf("work: %+v, %v, progress %v, lines %v", res, err, progress, lines)
		}
		_, err = c.CallTool(t.Context(), "nothing", nil, nil)
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Local || e.Code != mcp.CodeInvalidParams {
			t.Errorf("nothing: %v", err)
		}
		_, err = c.CallTool(t.Context(), "hang", nil, &client.CallOptions{IdleTimeout: time.Second})
		wantError(t, err, `tools/call "hang": no response from the server for 1s`)
		<-w.cancelled // the far side heard of it
	})
}

func TestListenInEveryRevision(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, rev mcp.Revision) {
		w := &world{news: make(chan mcp.Notification)}
		c := in(t, rev, w, nil)
		heard := make(chan mcp.Notification, 10)
		ended := make(chan error)
		go func() {
			ended <- c.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard <- n })
		}()
		if n := <-heard; n.Method != mcp.NotificationSubscriptionsAcknowledged {
			t.Errorf("heard %q first", n.Method)
		}
		synctest.Wait()
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

// Older servers push news that nobody subscribed to; it too makes kept results
// stale. None of them says how long a result is good, so a server of the newest
// revision that does is asked here, and the news comes by another way.
func TestNewsWithoutListening(t *testing.T) {
	var hear func(mcp.Notification)
	s := &newsServer{calls: map[string]int{}}
	c, err := client.Dial(t.Context(), dialerFunc(func(_ context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
		hear = p.OnNotification
		return &closer{Handler: s}, nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		for range 2 {
			if err := drain(c.Tools(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.calls[mcp.MethodToolsList]; got != want+1 {
			t.Errorf("%d calls, want %d", got, want+1)
		}
		hear(mcp.Notification{Method: mcp.NotificationToolsListChanged})
	}
}

// raw connects a client to a server that answers tools/call with given bytes.
func raw(t *testing.T, rev mcp.Revision, result string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), dialerFunc(func(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
		near, far := jsonrpc.Pipe()
		go func() {
			defer far.Close()
			for {
				frame, err := far.Read()
				if err != nil {
					return
				}
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				if json.Unmarshal(frame, &m) != nil || m.ID == nil {
					continue
				}
				answer := `"result":{"protocolVersion":"` + string(rev) + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
				if m.Method != "initialize" {
					answer = result
				}
				if far.Write([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+answer+"}\n")) != nil {
					return
				}
			}
		}()
		return era.Dial(ctx, near, p, &era.DialOptions{Known: rev})
	}), &client.Options{IdleTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// C10, C12 and C14, from the bytes on.
func TestAnswersOnTheWire(t *testing.T) {
	tests := []struct{ name, result, want, fails string }{
		{"good", `"result":{"resultType":"complete","content":[{"type":"text","text":"hi"}]}`, "hi", ""},
		{"C12 no resultType", `"result":{"content":[{"type":"text","text":"hi"}]}`, "hi", ""},
		{"C10 null", `"result":null`, "", "tools/call"},
		{"C10 array", `"result":[]`, "", "tools/call"},
		{"C10 empty", `"result":{}`, "", "no content"},
		{"C10 both", `"result":{"content":[]},"error":{"code":1,"message":"x"}`, "", "tools/call"},
		{"C10 neither", `"x":1`, "", "tools/call"},
		{"C12 strange resultType", `"result":{"resultType":"later","content":[]}`, "", `"later"`},
		{"C14 input_required without anything", `"result":{"resultType":"input_required"}`, "", "without inputRequests or requestState"},
		{"C16 sampling not declared", `"result":{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`, "", "not declared"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := client.Call[string](t.Context(), raw(t, mcp.Rev20260728, tt.result), "x", nil, nil)
			if tt.fails == "" {
				if err != nil || got != tt.want {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			wantError(t, err, tt.fails)
		})
	}
}

// C52: hints that make no sense.
func TestCacheHintsOnTheWire(t *testing.T) {
	for hint, calls := range map[string]string{`-5`: "not kept", `"x"`: "not kept", `1e30`: "kept", `0`: "not kept", `1000`: "kept"} {
		c := raw(t, mcp.Rev20260728, `"result":{"resultType":"complete","ttlMs":`+hint+`,"cacheScope":"private","contents":[]}`)
		if _, err := c.ReadResource(t.Context(), "a"); err != nil {
			t.Errorf("ttlMs %s: %v", hint, err)
		}
		c.Close() // from here on only a kept result can be read
		_, err := c.ReadResource(t.Context(), "a")
		if got := map[bool]string{true: "kept", false: "not kept"}[err == nil]; got != calls {
			t.Errorf("ttlMs %s: the result was %s, want %s (%v)", strings.TrimSpace(hint), got, calls, err)
		}
	}
}
