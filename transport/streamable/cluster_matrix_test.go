package streamable_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A visitor is a client of one revision that reaches a fleet through its load
// balancer.
type visitor struct {
	t   *testing.T
	f   *fleet
	rev mcp.Revision
	c   *client.Client

	mu     sync.Mutex
	logged []string
	asking func() // called with each elicitation; may be nil
}

func (f *fleet) visit(rev mcp.Revision) *visitor {
	f.t.Helper()
	v := &visitor{t: f.t, f: f, rev: rev}
	o := &client.Options{
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			v.mu.Lock()
			asking := v.asking
			v.mu.Unlock()
			if asking != nil {
				asking()
			}
			return e.Accept(map[string]any{"name": strings.TrimSuffix(e.Message, "?")})
		},
		//lint:ignore SA1019 the test is about this deprecated feature
		Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", StopReason: "endTurn", Content: mcp.NewSamplingContent(mcp.Text("sampled"))}, nil
		}},
		//lint:ignore SA1019 the test is about this deprecated feature
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///srv"}}, nil },
		//lint:ignore SA1019 the test is about this deprecated feature
		Logging: &client.Logging{Level: mcp.LogInfo, OnMessage: func(_ context.Context, m mcp.LogMessage) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.logged = append(v.logged, string(m.Data))
		}},
	}
	conn, err := (&streamclient.Endpoint{URL: f.url, Era: era.DialOptions{Known: rev}}).Dial(f.t.Context(), o.Profile())
	if err != nil {
		f.t.Fatal(err)
	}
	v.c = client.New(tasks.Client(conn), o)
	f.t.Cleanup(func() { v.c.Close(); conn.Close() })
	if got, err := v.c.Revision(f.t.Context()); err != nil || got != rev {
		f.t.Fatalf("revision %q, %v", got, err)
	}
	return v
}

func (v *visitor) call(tool string, o *client.CallOptions) (string, error) {
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	r, err := v.c.CallTool(ctx, tool, nil, o)
	if err != nil {
		return "", err
	}
	if r.IsError {
		return "", errors.New(r.Content.Text())
	}
	return r.Content.Text(), nil
}

func (v *visitor) want(tool, text string) {
	v.t.Helper()
	if got, err := v.call(tool, nil); err != nil || got != text {
		v.t.Errorf("%s: %q, %v; want %q", tool, got, err, text)
	}
}

// Clients of every revision use everything, while each of their HTTP requests
// goes to another replica.
func TestEveryRevisionAtEveryReplica(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			newFleet(t, 3, nil).usedBy(rev)
		})
	}
}

// The same on a real Redis.
func TestEveryRevisionAtEveryReplicaOnRedis(t *testing.T) {
	s := redistest.Start(t, nil)
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			f := onRedis(t, s, string(rev)+":", 3)
			f.usedBy(rev)
			for _, n := range f.nodes {
				for len(n.started) > 0 {
					<-n.started // of the tool slow
				}
			}
			v := f.visit(rev)
			ended := make(chan error, 1)
			go func() {
				_, err := v.call("hold", &client.CallOptions{Progress: func(mcp.ProgressParams) {}})
				ended <- err
			}()
			f.holder().kill()
			if err := receive(t, "the end of the call", ended); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call of a killed replica ended with %v", err)
			}
			v.goesOn()
		})
	}
}

// usedBy has a client of a revision use everything.
func (f *fleet) usedBy(rev mcp.Revision) {
	t := f.t
	v := f.visit(rev)
	asks := rev >= mcp.Rev20250618 // elicitation
	for range 4 {                  // so that each round begins at another replica
		if out, err := client.Call[int](t.Context(), v.c, "add", map[string]int{"A": 2, "B": 3}, nil); err != nil || out != 5 {
			t.Errorf("add: %v, %v", out, err)
		}
		if asks {
			v.want("ask", "First and Second")
			v.want("task", "task by Task")
		}
		v.want("sample", "sampled")
		v.want("roots", "file:///srv")
		v.side()
	}
	seen := map[string]bool{}
	for range 9 {
		who, err := v.call("who", nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[who] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d replicas served the client", len(seen))
	}
	v.changes()
}

// side checks progress, log messages and cancellation.
func (v *visitor) side() {
	t := v.t
	t.Helper()
	var progress []float64
	if _, err := v.call("progress", &client.CallOptions{Progress: func(p mcp.ProgressParams) { progress = append(progress, p.Progress) }}); err != nil || !slices.Equal(progress, []float64{1, 2, 3}) {
		t.Errorf("progress %v, %v", progress, err)
	}
	v.mu.Lock()
	v.logged = nil
	v.mu.Unlock()
	v.want("log", "logged")
	v.mu.Lock()
	logged := slices.Clone(v.logged)
	v.mu.Unlock()
	if len(logged) != 1 || !strings.Contains(logged[0], "loud") {
		t.Errorf("logged %q", logged)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := v.c.CallTool(ctx, "slow", nil, &client.CallOptions{Progress: func(mcp.ProgressParams) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call ended with %v", err)
	}
	receive(t, "the cancellation at the replica of the call", v.f.cancelled)
}

// A listened is a subscription of a visitor.
type listened struct {
	heard chan string
	ended chan error
	stop  func()
}

func (v *visitor) listen(filter mcp.SubscriptionFilter) *listened {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	l := &listened{heard: make(chan string, 100), ended: make(chan error, 1), stop: cancel}
	go func() {
		l.ended <- v.c.Listen(ctx, filter, func(n mcp.Notification) { l.heard <- n.Method + " " + string(n.Params) })
	}()
	if first := receive(v.t, "the acknowledgement", l.heard); !strings.HasPrefix(first, mcp.NotificationSubscriptionsAcknowledged) {
		v.t.Errorf("the first notification is %s", first)
	}
	return l
}

// changes checks that changes at each replica reach the client, once.
func (v *visitor) changes() {
	t := v.t
	l := v.listen(mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://one"}})
	defer l.stop()
	for i, n := range v.f.nodes {
		n.server.ResourceUpdated("test://two") // not subscribed to
		n.server.ResourceUpdated("test://one")
		if got := receive(t, "the update", l.heard); got != mcp.NotificationResourceUpdated+` {"uri":"test://one"}` {
			t.Errorf("replica %d: heard %s", i, got)
		}
		server.AddTool(n.server, "grown", "Is new", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		if got := receive(t, "the change of the list", l.heard); !strings.HasPrefix(got, mcp.NotificationToolsListChanged) {
			t.Errorf("replica %d: heard %s", i, got)
		}
	}
	v.f.nodes[0].server.ResourceUpdated("test://one") // the next one heard: nothing was sent twice
	receive(t, "the last update", l.heard)
	select {
	case got := <-l.heard:
		t.Errorf("heard twice: %s", got)
	default:
	}
}
