package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

type connectFunc func(t *testing.T, h mcp.Handler, rev mcp.Revision, p *mcp.ClientProfile) mcp.Handler

// overPipe serves h to a client of one revision over a stream, as stdio does.
func overPipe(t *testing.T, h mcp.Handler, rev mcp.Revision, p *mcp.ClientProfile) mcp.Handler {
	t.Helper()
	s, err := era.NewServer(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); s.ServeStream(ctx, far) }()
	conn, err := era.Dial(t.Context(), near, p, &era.DialOptions{Known: rev})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); cancel(); <-served })
	return conn
}

// overHTTP serves h to a client of one revision over HTTP.
func overHTTP(t *testing.T, h mcp.Handler, rev mcp.Revision, p *mcp.ClientProfile) mcp.Handler {
	t.Helper()
	s, err := streamable.NewHandler(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	conn, err := (&streamclient.Endpoint{URL: web.URL, Era: era.DialOptions{Known: rev}}).Dial(t.Context(), p)
	if err != nil {
		web.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); web.CloseClientConnections(); web.Close() })
	return conn
}

// able is the profile of the gateway towards servers.
var able = &mcp.ClientProfile{
	Client: mcp.Implementation{Name: "gateway", Version: "1"},
	Capabilities: mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}},
		//lint:ignore SA1019 it passes on what older clients support
		Sampling: &mcp.SamplingCapability{Tools: mcp.Settings{}},
		//lint:ignore SA1019 it passes on what older clients support
		Roots: &mcp.RootsCapability{ListChanged: true},
	},
}

type name struct {
	Name string `json:"name"`
}

type sum struct {
	Sum int `json:"sum"`
}

// An origin is a server behind the gateway, with one feature of each kind.
type origin struct {
	name      string
	s         *server.Server
	cancelled chan struct{}
}

func newOrigin(t *testing.T, called string) *origin {
	o := &origin{name: called, cancelled: make(chan struct{}, 1)}
	s := server.New(mcp.Implementation{Name: called, Version: "1"}, &server.Options{Instructions: "I am " + called, PageSize: 4})
	o.s = s
	server.AddTool(s, "add", "adds", func(_ context.Context, _ *mcp.Call, in struct{ A, B int }) (sum, error) { return sum{in.A + in.B}, nil }, nil)
	server.AddTool(s, "who", "says who it is", func(context.Context, *mcp.Call, struct{}) (mcp.Contents, error) {
		return mcp.Contents{mcp.Text(called), &mcp.ResourceLink{Resource: mcp.Resource{URI: "test://static", Name: "static"}}}, nil
	}, nil)
	server.AddTool(s, strings.Repeat("long_", 20), "has a long name", func(context.Context, *mcp.Call, struct{}) (string, error) { return "long " + called, nil }, nil)
	server.AddTool(s, "ask", "asks two things", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		a, err := server.Elicit[name](c, "one", "First?")
		if err != nil {
			return "", err
		}
		b, err := server.Elicit[name](c, "two", "Second?")
		return a.Name + " and " + b.Name, err
	}, nil)
	server.AddTool(s, "page", "asks to open a page", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "opened", server.ElicitURL(c, "page", "Log in", "https://example.com/login")
	}, nil)
	server.AddTool(s, "sample", "asks the model", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		r, err := server.Sample(c, "model", &mcp.CreateMessageParams{MaxTokens: 7, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("hi"))}}})
		if err != nil {
			return "", err
		}
		return r.Content.Blocks.Text(), nil
	}, nil)
	server.AddTool(s, "sampletools", "gives the model a tool", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		r, err := server.Sample(c, "model", &mcp.CreateMessageParams{MaxTokens: 7, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("hi"))}},
			Tools: []mcp.Tool{{Name: "find", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
		if err != nil {
			return "", err
		}
		use, ok := r.Content.Blocks[0].(*mcp.ToolUseContent)
		if !ok {
			return "", fmt.Errorf("the model answered with %T", r.Content.Blocks[0])
		}
		return "the model uses " + use.Name, nil
	}, nil)
	server.AddTool(s, "roots", "asks for the roots", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		r, err := server.Roots(c, "roots")
		if err != nil {
			return "", err
		}
		return r[0].URI, nil
	}, nil)
	server.AddTool(s, "progress", "reports progress", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for i := 1; i <= 3; i++ {
			server.Progress(c, float64(i), 3, "")
		}
		return "done", nil
	}, nil)
	server.AddTool(s, "log", "logs", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		l := server.Logger(c, "test")
		l.Debug("quiet")
		l.Warn("loud")
		return "logged", nil
	}, nil)
	server.AddTool(s, "slow", "waits", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 2, "")
		<-ctx.Done()
		o.cancelled <- struct{}{}
		return "", ctx.Err()
	}, nil)
	if err := s.AddResource(mcp.Resource{URI: "test://static", Name: "static"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", "static "+called), nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "greet://{name}", Name: "greet"}, func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", called+" greets "+vars["name"]), nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	skill := fstest.MapFS{"sort/SKILL.md": {Data: []byte("---\nname: sort\ndescription: sorts for " + called + "\n---\nSort.\n")}}
	if err := skills.Add(s, skill, nil); err != nil {
		t.Fatal(err)
	}
	m, err := tasks.NewManager(s, &tasks.Options{PollInterval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(s, "task", "is a task", func(_ context.Context, c *mcp.Call, _ struct{}) (mcp.Contents, error) {
		a, err := server.Elicit[name](c, "one", "Task?")
		return mcp.Contents{mcp.Text(called + " by " + a.Name), &mcp.ResourceLink{Resource: mcp.Resource{URI: "test://static", Name: "static"}}}, err
	}, m.Tool(tasks.Required, nil))
	complete := func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
		return []string{value + "-" + called}, nil
	}
	if err := s.CompleteTemplate("greet://{name}", "name", complete); err != nil {
		t.Fatal(err)
	}
	server.AddPrompt(s, "hello", "says hello", func(_ context.Context, _ *mcp.Call, in name) (string, error) {
		return called + " says hello to " + in.Name, nil
	}, nil)
	if err := s.CompletePrompt("hello", "name", complete); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return o
}

// A cell is a client of one revision that reaches two servers of another one
// through a gateway.
type cell struct {
	t              *testing.T
	client, server mcp.Revision
	c              *client.Client
	alpha, beta    *origin

	mu     sync.Mutex
	logged []string
	answer func(*client.Elicitation) (*mcp.ElicitResult, error) // nil accepts
}

func (c *cell) both(since mcp.Revision) bool { return c.client >= since && c.server >= since }

func (c *cell) call(tool string) (string, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	r, err := c.c.CallTool(ctx, tool, nil, nil)
	if err != nil {
		return "", err
	}
	if r.IsError {
		return "", errors.New(r.Content.Text())
	}
	return r.Content.Text(), nil
}

// want expects a result if the revisions can express it, and otherwise an error.
func (c *cell) want(tool, text string, possible bool) {
	c.t.Helper()
	got, err := c.call(tool)
	switch {
	case possible && (err != nil || !strings.Contains(got, text)):
		c.t.Errorf("%s: %q, %v; want %q", tool, got, err, text)
	case !possible && errors.Is(err, context.DeadlineExceeded):
		c.t.Errorf("%s: %v; want an error that says what is missing", tool, err)
	case !possible && err == nil:
		c.t.Errorf("%s: %q; want an error, since the revisions have no such thing", tool, got)
	}
}

// newCell connects a client through a gateway with two servers. An empty scope
// means that all callers share a connection to each.
func newCell(t *testing.T, clientRev, serverRev mcp.Revision, in, out connectFunc, scope gateway.Scope) *cell {
	c := &cell{t: t, client: clientRev, server: serverRev, alpha: newOrigin(t, "alpha"), beta: newOrigin(t, "beta")}
	upstream := func(name string, s mcp.Handler) gateway.Upstream {
		h := out(t, s, serverRev, able)
		if scope == "" {
			return gateway.Upstream{Name: name, Handler: h}
		}
		return gateway.Upstream{Name: name, Connections: &gateway.Connections{Scope: scope, Dial: func(context.Context, mcp.Caller) (mcp.Conn, error) {
			return notClosed{h}, nil // which a cleanup closes
		}}}
	}
	r, err := gateway.NewRouter([]gateway.Upstream{upstream("beta", c.beta.s), upstream("alpha", c.alpha.s)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	o := &client.Options{
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			c.mu.Lock()
			answer := c.answer
			c.mu.Unlock()
			if answer != nil {
				return answer(e)
			}
			return e.Accept(map[string]any{"name": strings.TrimSuffix(e.Message, "?")})
		},
		ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) { return e.Accept(nil) },
		//lint:ignore SA1019 the test is about this deprecated feature
		Sampling: &client.Sampling{Tools: true, Create: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if len(p.Tools) > 0 {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", StopReason: "toolUse",
					Content: mcp.NewSamplingContent(&mcp.ToolUseContent{ID: "1", Name: p.Tools[0].Name, Input: json.RawMessage("{}")})}, nil
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", StopReason: "endTurn", Content: mcp.NewSamplingContent(mcp.Text("sampled"))}, nil
		}},
		//lint:ignore SA1019 the test is about this deprecated feature
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///srv"}}, nil },
		//lint:ignore SA1019 the test is about this deprecated feature
		Logging: &client.Logging{Level: mcp.LogInfo, OnMessage: func(_ context.Context, m mcp.LogMessage) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.logged = append(c.logged, string(m.Data))
		}},
	}
	c.c = client.New(tasks.Client(in(t, r, clientRev, o.Profile())), o)
	t.Cleanup(func() { c.c.Close() })
	return c
}

// TestEveryCell has clients of each revision use servers of each revision, over
// both kinds of transport on either side.
func TestEveryCell(t *testing.T) {
	transports := map[string]connectFunc{"stdio": overPipe, "HTTP": overHTTP}
	for _, clientRev := range mcp.Revisions() {
		for _, serverRev := range mcp.Revisions() {
			for inName, in := range transports {
				for outName, out := range transports {
					if clientRev == "2024-11-05" && inName == "HTTP" || serverRev == "2024-11-05" && outName == "HTTP" {
						continue // that revision has another HTTP transport
					}
					t.Run(fmt.Sprintf("%s over %s to %s over %s", clientRev, inName, serverRev, outName), func(t *testing.T) {
						t.Parallel()
						c := newCell(t, clientRev, serverRev, in, out, "")
						c.features()
						c.questions()
						c.side()
						c.changes()
					})
				}
			}
		}
	}
}

// notClosed is a connection that another owner closes.
type notClosed struct{ mcp.Handler }

func (notClosed) Close() error { return nil }

// TestEveryCellWithOwnConnections is TestEveryCell, for the oldest and the newest
// revisions, with connections that belong to users and sessions.
func TestEveryCellWithOwnConnections(t *testing.T) {
	for _, clientRev := range []mcp.Revision{mcp.Rev20250326, mcp.Rev20260728} {
		for _, serverRev := range []mcp.Revision{mcp.Rev20250326, mcp.Rev20260728} {
			for name, in := range map[string]connectFunc{"stdio": overPipe, "HTTP": overHTTP} {
				for _, scope := range []gateway.Scope{gateway.PerUser, gateway.PerSession} {
					t.Run(fmt.Sprintf("%s over %s to %s for each %s", clientRev, name, serverRev, scope), func(t *testing.T) {
						t.Parallel()
						c := newCell(t, clientRev, serverRev, in, overPipe, scope)
						c.features()
						c.skills()
						c.questions()
						c.side()
						c.changes()
					})
				}
			}
		}
	}
}

// features uses everything that has a name.
func (c *cell) features() {
	t, ctx := c.t, c.t.Context()
	var tools []string
	for tool, err := range c.c.Tools(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if len(tool.Name) > 64 {
			t.Errorf("the name %q is too long", tool.Name)
		}
		tools = append(tools, tool.Name)
	}
	if len(tools) != 24 || !slices.Contains(tools, "alpha__add") || !slices.Contains(tools, "beta__add") {
		t.Errorf("tools %q", tools)
	}
	out, err := client.Call[sum](ctx, c.c, "alpha__add", map[string]int{"A": 2, "B": 3}, nil)
	if err != nil || out.Sum != 5 {
		t.Errorf("add: %v %v", out, err)
	}
	for i, tool := range tools {
		if strings.Contains(tool, "long") {
			c.want(tool, "long "+[]string{"alpha", "beta"}[i/12], true)
		}
	}
	if _, err := c.call("gamma__add"); err == nil {
		t.Error("a tool of no server was called")
	}
	if _, err := c.call("add"); err == nil {
		t.Error("a tool without a server was called")
	}
	for _, up := range []string{"alpha", "beta"} {
		c.want(up+"__who", up, true)
		who, err := c.c.CallTool(ctx, up+"__who", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if link, ok := who.Content[1].(*mcp.ResourceLink); ok {
			if r, err := c.c.ReadResource(ctx, link.URI); err != nil || r.Contents[0].Text != "static "+up || r.Contents[0].URI != link.URI {
				t.Errorf("read the link %s of %s: %+v, %v", link.URI, up, r, err)
			}
		} else if c.both("2025-06-18") {
			t.Errorf("content %T", who.Content[1])
		}
		if r, err := c.c.ReadResource(ctx, up+"+greet://ada"); err != nil || r.Contents[0].Text != up+" greets ada" {
			t.Errorf("read a template of %s: %+v, %v", up, r, err)
		}
		if p, err := c.c.GetPrompt(ctx, up+"__hello", map[string]string{"name": "ada"}); err != nil || !strings.Contains(fmt.Sprint(p.Messages[0].Content.(*mcp.TextContent).Text), up+" says hello to ada") {
			t.Errorf("prompt of %s: %v %v", up, p, err)
		}
		for _, ref := range []mcp.CompletionRef{mcp.PromptRef(up + "__hello"), mcp.ResourceRef(up + "+greet://{name}")} {
			if r, err := c.c.Complete(ctx, mcp.CompleteParams{Ref: ref, Argument: mcp.CompletionArgument{Name: "name", Value: "a"}}); err != nil || !slices.Equal(r.Values, []string{"a-" + up}) {
				t.Errorf("completion of %s: %v %v", up, r, err)
			}
		}
	}
	var uris []string
	for r, err := range c.c.Resources(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if !slices.Equal(uris, []string{"alpha+test://static", "skill://alpha/sort/SKILL.md", "beta+test://static", "skill://beta/sort/SKILL.md"}) {
		t.Errorf("resources %q", uris)
	}
}

// questions has servers ask the client.
func (c *cell) questions() {
	c.want("beta__ask", "First and Second", c.both("2025-06-18"))
	// Clients without tasks wait; older servers cannot ask.
	c.want("beta__task", "beta by Task", c.both("2025-06-18"))
	for _, answer := range []func(*client.Elicitation) (*mcp.ElicitResult, error){(*client.Elicitation).Decline, (*client.Elicitation).Cancel} {
		c.mu.Lock()
		c.answer = answer
		c.mu.Unlock()
		c.want("beta__ask", "", false)
	}
	c.want("beta__page", "opened", c.both("2025-11-25"))
	c.want("beta__sample", "sampled", true)
	c.want("beta__sampletools", "the model uses find", c.both("2025-11-25"))
	c.want("beta__roots", "file:///srv", true)
}

// skills lists the skills of both servers and loads them.
func (c *cell) skills() {
	var found []string
	for s, err := range skills.List(c.t.Context(), c.c) {
		if err != nil {
			c.t.Fatal(err)
		}
		loaded, err := skills.Load(c.t.Context(), c.c, s)
		if err != nil {
			c.t.Errorf("load %s: %v", s.URI, err)
			continue
		}
		found = append(found, s.URI+" "+loaded.Text())
	}
	if len(found) != 2 || found[0] == found[1] {
		c.t.Errorf("skills: %q", found)
	}
}

// side checks progress, log messages and cancellation.
func (c *cell) side() {
	t := c.t
	var progress []float64
	if _, err := c.c.CallTool(t.Context(), "alpha__progress", nil, &client.CallOptions{Progress: func(p mcp.ProgressParams) { progress = append(progress, p.Progress) }}); err != nil || !slices.Equal(progress, []float64{1, 2, 3}) {
		t.Errorf("progress %v, %v", progress, err)
	}
	c.want("alpha__log", "logged", true)
	c.mu.Lock()
	logged := slices.Clone(c.logged)
	c.mu.Unlock()
	if len(logged) != 1 || !strings.Contains(logged[0], "loud") {
		t.Errorf("logged %q", logged)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.c.CallTool(ctx, "alpha__slow", nil, &client.CallOptions{Progress: func(mcp.ProgressParams) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call ended with %v", err)
	}
	select {
	case <-c.alpha.cancelled:
	case <-time.After(time.Minute):
		t.Error("the cancellation did not reach the server")
	}
}

// lists reports whether the list of tools has a tool.
func (c *cell) lists(ctx context.Context, name string) (found bool) {
	for tool, err := range c.c.Tools(ctx) {
		found = found || err == nil && tool.Name == name
	}
	return found
}

// changes checks that the client is notified of what it subscribed to.
func (c *cell) changes() {
	t := c.t
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	heard := make(chan string, 100) // one channel, so that the order is seen
	ended := make(chan error, 1)
	go func() {
		ended <- c.c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"beta+test://static"}}, func(n mcp.Notification) {
			heard <- n.Method + " " + string(n.Params)
		})
	}()
	select {
	case first := <-heard:
		if !strings.HasPrefix(first, mcp.NotificationSubscriptionsAcknowledged) {
			t.Errorf("the first notification is %s", first)
			return
		}
	case err := <-ended:
		t.Errorf("listening ended with %v", err)
		return
	}
	c.alpha.s.ResourceUpdated("test://static") // not subscribed to
	c.beta.s.ResourceUpdated("test://static")
	server.AddTool(c.beta.s, "grown", "is new", func(context.Context, *mcp.Call, struct{}) (string, error) { return "grown", nil }, nil)
	seen := map[string]bool{}
	for len(seen) < 2 {
		select {
		case n := <-heard:
			seen[n] = true
		case <-ctx.Done():
			t.Fatalf("heard only %v", seen)
		}
	}
	for n := range seen {
		if !strings.HasPrefix(n, mcp.NotificationToolsListChanged) && n != mcp.NotificationResourceUpdated+` {"uri":"beta+test://static"}` {
			t.Errorf("heard %s", n)
		}
	}
	c.want("beta__grown", "grown", true)
	for !c.lists(ctx, "beta__grown") { // the notification was of an earlier change
		select {
		case <-heard:
		case <-ctx.Done():
			t.Fatal("the new tool is not in the list, and no notification says that it changed")
		}
	}
	cancel()
	<-ended
}
