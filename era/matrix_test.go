package era_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) {
	published = spectest.Find()
	leaktest.Main(m)
}

// speaks are the three kinds of server there are.
var speaks = map[string]*era.ServerOptions{
	"modern": {ModernOnly: true},
	"legacy": {LegacyOnly: true},
	"dual":   {},
}

// able is a client that can do everything.
var able = &mcp.ClientProfile{
	Client: mcp.Implementation{Name: "c", Version: "1"},
	Capabilities: mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}},
		Sampling:    &mcp.SamplingCapability{},
		Roots:       &mcp.RootsCapability{},
	},
}

var asAble = mcp.Caller{Client: &able.Client, Capabilities: &able.Capabilities}

// link serves h over a pipe in the given way, and meets it.
func link(t *testing.T, h mcp.Handler, o *era.ServerOptions) *era.Conn {
	t.Helper()
	s, err := era.NewServer(h, o)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.ServeStream(context.Background(), far); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	seen := &frames{}
	p, err := era.Dial(t.Context(), near, able, &era.DialOptions{Tap: seen.see})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(); wg.Wait(); seen.judge(t, p.Revision()) })
	return p
}

// frames are what passed between a client and a server. Afterwards each of them
// is held against the published schema of the revision that they spoke.
type frames struct {
	mu   sync.Mutex
	sent []frame
}

type frame struct {
	from spectest.Direction
	raw  []byte
}

func (f *frames) see(d jsonrpc.Direction, raw []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := spectest.FromServer
	if d == jsonrpc.Out {
		from = spectest.FromClient
	}
	f.sent = append(f.sent, frame{from, bytes.Clone(raw)})
}

func (f *frames) judge(t *testing.T, rev mcp.Revision) {
	if published == nil {
		return // the test with its own name says why
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	methods := map[string]string{} // of requests, by who sent them and their id
	for _, fr := range f.sent {
		m, err := jsonrpc.Decode(fr.raw)
		if err != nil {
			t.Errorf("%s is no message: %v", fr.raw, err)
			continue
		}
		asker := fr.from
		if m.IsResponse() {
			asker = spectest.FromClient + spectest.FromServer - fr.from
		}
		key := fmt.Sprint(asker, m.ID)
		if m.IsRequest() {
			methods[key] = m.Method
		}
		spoken := rev
		if methods[key] == mcp.MethodDiscover {
			spoken = mcp.Rev20260728 // the probe, whoever hears it
			if m.Error != nil {
				continue // of a server that does not know what it is
			}
		}
		if err := published.Validate(spoken, fr.from, fr.raw, methods[key]); err != nil {
			t.Errorf("%s breaks the schema of %s: %v", fr.raw, spoken, err)
		}
	}
}

// published are the schemas of all revisions; nil where they are not there.
var published *spectest.Spec

func TestMessagesAreHeldAgainstTheSchemas(t *testing.T) {
	if published == nil {
		spectest.Load(t) // says what is missing, and skips
	}
}

// everyWay runs a test through a gateway of each kind before a server of each
// kind: a connection is served again as it is, so no line of the gateway knows
// an era.
func everyWay(t *testing.T, h func() mcp.Handler, test func(t *testing.T, through mcp.Handler)) {
	for down, downOpts := range speaks {
		for up, upOpts := range speaks {
			t.Run(down+" gateway before "+up+" server", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gateway := link(t, h(), upOpts)
					test(t, link(t, gateway, downOpts))
				})
			})
		}
	}
}

func call(name string) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + name + `"}`), Caller: asAble}
}

// discoverable answers server/discover for a handler that is otherwise bare.
func discoverable(h mcp.HandlerFunc) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodDiscover {
			return mcp.Result{
				Body:   json.RawMessage(`{"capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"instructions":"be kind"}`),
				Server: &mcp.Implementation{Name: "s", Version: "2"},
			}, nil
		}
		return h(ctx, c)
	})
}

func text(s string) mcp.Result {
	raw, _ := json.Marshal(s)
	return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(raw) + `}]}`)}
}

func wantText(t *testing.T, res mcp.Result, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatalf("call failed: %v", err)
	}
	if string(res.Body) != string(text(want).Body) {
		t.Fatalf("got %s, want the text %q", res.Body, want)
	}
}

func answers(m map[string]string) mcp.InputHandler {
	return func(_ context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		a, ok := m[q.Method]
		if !ok {
			return nil, fmt.Errorf("asked for %s", q.Method)
		}
		return json.RawMessage(a), nil
	}
}

func TestElicitationThroughEveryEra(t *testing.T) {
	greet := func() mcp.Handler {
		return discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			q := mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`)}
			first, err := c.Ask("first", q)
			if err != nil {
				return mcp.Result{}, err
			}
			second, err := c.Ask("second", q)
			if err != nil {
				return mcp.Result{}, err
			}
			return text(fmt.Sprintf("%s and %s, from %s", first, second, c.Caller.Client.Name)), nil
		})
	}
	everyWay(t, greet, func(t *testing.T, h mcp.Handler) {
		h = mcp.HandleInput(h, answers(map[string]string{mcp.MethodElicit: `{"action":"accept","content":{"name":"Ada"}}`}), 0)
		for range 3 {
			res, err := h.Serve(t.Context(), call("greet"))
			a := `{"action":"accept","content":{"name":"Ada"}}`
			wantText(t, res, err, a+" and "+a+", from c")
		}
	})
}

func TestSamplingAndRootsThroughEveryEra(t *testing.T) {
	h := func() mcp.Handler {
		return discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			sampled, err := c.Ask("s", mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}`)})
			if err != nil {
				return mcp.Result{}, err
			}
			roots, err := c.Ask("r", mcp.InputRequest{Method: mcp.MethodRootsList})
			if err != nil {
				return mcp.Result{}, err
			}
			return text(string(sampled) + string(roots)), nil
		})
	}
	const s, r = `{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}`, `{"roots":[{"uri":"file:///x"}]}`
	everyWay(t, h, func(t *testing.T, h mcp.Handler) {
		h = mcp.HandleInput(h, answers(map[string]string{mcp.MethodCreateMessage: s, mcp.MethodRootsList: r}), 0)
		res, err := h.Serve(t.Context(), call("x"))
		wantText(t, res, err, s+r)
	})
}

// newsroom tells whoever listens of each change.
type newsroom struct{ change chan string }

func (n newsroom) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method != mcp.MethodSubscriptionsListen {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	var in mcp.ListenParams
	if err := mcp.Unmarshal(c.Params, &in); err != nil {
		return mcp.Result{}, err
	}
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
	for {
		select {
		case what := <-n.change:
			note := mcp.Notification{Method: what}
			if what == mcp.NotificationResourceUpdated {
				note.Params = json.RawMessage(`{"uri":"test://a"}`)
			}
			if in.Notifications.Wants(note) {
				c.Notify(note)
			} else {
				n.change <- what // it is for another subscription
			}
		case <-ctx.Done():
			return mcp.Result{}, nil
		}
	}
}

func TestNewsThroughEveryEra(t *testing.T) {
	n := newsroom{}
	h := func() mcp.Handler {
		n.change = make(chan string)
		return discoverable(n.Serve)
	}
	everyWay(t, h, func(t *testing.T, h mcp.Handler) {
		heard := make(chan mcp.Notification, 9)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := h.Serve(ctx, &mcp.Call{
				Method:         mcp.MethodSubscriptionsListen,
				Params:         json.RawMessage(`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://a"]}}`),
				Caller:         asAble,
				OnNotification: func(n mcp.Notification) { heard <- n },
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("listening ended with %v", err)
			}
		})
		if got := <-heard; got.Method != mcp.NotificationSubscriptionsAcknowledged {
			t.Errorf("heard %q first", got.Method)
		}
		synctest.Wait()
		n.change <- mcp.NotificationToolsListChanged
		if got := <-heard; got.Method != mcp.NotificationToolsListChanged || got.Params != nil || got.Meta != nil {
			t.Errorf("heard %+v", got)
		}
		n.change <- mcp.NotificationResourceUpdated
		if got := <-heard; got.Method != mcp.NotificationResourceUpdated || string(got.Params) != `{"uri":"test://a"}` || got.Meta != nil {
			t.Errorf("heard %s %s %v", got.Method, got.Params, got.Meta)
		}
		cancel()
		wg.Wait()
	})
}

func TestProgressAndLogsThroughEveryEra(t *testing.T) {
	h := func() mcp.Handler {
		return discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			for i := range 3 {
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(fmt.Sprintf(`{"progress":%d,"total":3}`, i))})
			}
			c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"debug","data":"quiet"}`)})
			c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"warning","data":"loud"}`)})
			return text("done"), nil
		})
	}
	everyWay(t, h, func(t *testing.T, h mcp.Handler) {
		for _, tc := range []struct {
			progress bool
			level    mcp.LogLevel
			want     []string
		}{
			{true, mcp.LogWarning, []string{`{"progress":0,"total":3}`, `{"progress":1,"total":3}`, `{"progress":2,"total":3}`, `{"level":"warning","data":"loud"}`}},
			{false, "", nil},
			{false, mcp.LogDebug, []string{`{"level":"debug","data":"quiet"}`, `{"level":"warning","data":"loud"}`}},
		} {
			var heard []string
			c := call("x")
			c.Progress, c.Caller.LogLevel = tc.progress, tc.level
			c.OnNotification = func(n mcp.Notification) { heard = append(heard, string(n.Params)) }
			res, err := h.Serve(t.Context(), c)
			wantText(t, res, err, "done")
			if fmt.Sprint(heard) != fmt.Sprint(tc.want) {
				t.Errorf("with progress=%v level=%q heard %v, want %v", tc.progress, tc.level, heard, tc.want)
			}
		}
	})
}

// A handler that asks begins again in each round, and its progress with it. To
// a client of an older revision the rounds are one call, whose progress rises.
func TestProgressRisesThroughAllRounds(t *testing.T) {
	h := func() mcp.Handler {
		return discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			for i := range 4 {
				if i == 2 {
					if _, err := c.Ask("r", mcp.RootsRequest()); err != nil {
						return mcp.Result{}, err
					}
				}
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(fmt.Sprintf(`{"progress":%d}`, i))})
			}
			return text("done"), nil
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		c := call("x")
		c.Progress = true
		c.OnNotification = func(n mcp.Notification) { heard = append(heard, string(n.Params)) }
		through := mcp.HandleInput(link(t, h(), speaks["legacy"]), answers(map[string]string{mcp.MethodRootsList: `{"roots":[]}`}), 0)
		res, err := through.Serve(t.Context(), c)
		wantText(t, res, err, "done")
		if got := fmt.Sprint(heard); got != `[{"progress":0} {"progress":1} {"progress":2} {"progress":3}]` {
			t.Errorf("heard %s", got)
		}
	})
}

func TestCancellationThroughEveryEra(t *testing.T) {
	var started, ended chan struct{}
	h := func() mcp.Handler {
		started, ended = make(chan struct{}), make(chan struct{})
		return discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method != mcp.MethodToolsCall {
				return mcp.Result{}, mcp.MethodNotFound(c.Method)
			}
			close(started)
			<-ctx.Done()
			close(ended)
			return text("too late"), nil
		})
	}
	everyWay(t, h, func(t *testing.T, h mcp.Handler) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := h.Serve(ctx, call("slow"))
			failed <- err
		}()
		<-started
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		<-ended
	})
}

func TestDiscoveryThroughEveryEra(t *testing.T) {
	h := func() mcp.Handler {
		return discoverable(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })
	}
	everyWay(t, h, func(t *testing.T, h mcp.Handler) {
		res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodDiscover})
		if err != nil {
			t.Fatal(err)
		}
		d, err := protocol.DecodeDiscovery(res)
		if err != nil {
			t.Fatal(err)
		}
		if d.Server == nil || d.Server.Name != "s" || d.Instructions != "be kind" || d.Capabilities.Tools == nil || !d.Capabilities.Tools.ListChanged {
			t.Errorf("discovered %+v of %+v", d, d.Server)
		}
	})
}

// A server that ignores methods it does not know must not hang a client.
func TestSilentServerIsTakenForAnOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonrpc.Pipe()
		go func() {
			for {
				frame, err := far.Read()
				if err != nil {
					return
				}
				m, _ := jsonrpc.Decode(frame)
				if m.Method == "initialize" {
					far.Write(append(jsonrpc.AppendResult(nil, m.ID, []byte(`{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)), '\n'))
				}
			}
		}()
		start := time.Now()
		p, err := era.Dial(t.Context(), near, able, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if p.Revision() != mcp.Rev20241105 {
			t.Errorf("speaks %s", p.Revision())
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("waited %s for the probe", waited)
		}
	})
}
