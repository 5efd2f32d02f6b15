package streamable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A node is one replica: a server with its own HTTP listener.
type node struct {
	t       *testing.T
	replica *cluster.Replica
	handler *streamable.Handler
	server  *server.Server
	store   *nodeStore
	web     *http.Server
	url     string

	started, cancelled chan struct{} // of the tool slow
	finish             chan struct{} // ends the tool hold
	drained            bool          // left out by the load balancer; guarded by fleet.mu
	passing            atomic.Int64  // requests that the load balancer has sent it
}

// nodeStore is the store as one replica reaches it.
type nodeStore struct {
	cluster.Store
	dead atomic.Bool // the process was killed
	away atomic.Bool // the store does not answer this replica
	gets atomic.Int64
	sets atomic.Int64

	mute atomic.Bool // messages to others are lost
	full atomic.Bool // the store takes no values

	mu   sync.Mutex
	lost []func() // of the subscriptions

	lastSession atomic.Pointer[string] // the key of the session that was stored last
}

func (s *nodeStore) err() error {
	if s.dead.Load() || s.away.Load() {
		return cluster.ErrUnavailable
	}
	return nil
}

func (s *nodeStore) Get(ctx context.Context, key string, extend time.Duration) ([]byte, int64, error) {
	s.gets.Add(1)
	if err := s.err(); err != nil {
		return nil, 0, err
	}
	return s.Store.Get(ctx, key, extend)
}

func (s *nodeStore) Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (int64, error) {
	s.sets.Add(1)
	if strings.HasPrefix(key, "session/") {
		s.lastSession.Store(&key)
	}
	if s.full.Load() {
		return 0, cluster.ErrFull
	}
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Set(ctx, key, value, version, ttl)
}

func (s *nodeStore) Append(ctx context.Context, log string, data []byte, limit cluster.LogLimit) (string, error) {
	s.sets.Add(1)
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.Append(ctx, log, data, limit)
}

func (s *nodeStore) Publish(ctx context.Context, topic string, data []byte) error {
	if err := s.err(); err != nil {
		return err
	}
	if s.mute.Load() {
		return nil
	}
	return s.Store.Publish(ctx, topic, data)
}

func (s *nodeStore) Subscribe(ctx context.Context, topic string, receive func([]byte), lost func()) (func(), error) {
	s.mu.Lock()
	s.lost = append(s.lost, lost)
	s.mu.Unlock()
	return s.Store.Subscribe(ctx, topic, receive, lost)
}

// reconnected tells the subscribers that messages may have been missed.
func (s *nodeStore) reconnected() {
	s.mu.Lock()
	lost := slices.Clone(s.lost)
	s.mu.Unlock()
	for _, f := range lost {
		f()
	}
}

func (s *nodeStore) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Register(ctx, group, member, data, ttl)
}

// Unregister does nothing for a process that was killed.
func (s *nodeStore) Unregister(ctx context.Context, group, member string) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Unregister(ctx, group, member)
}

func (s *nodeStore) Members(ctx context.Context, group string) (map[string][]byte, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.Members(ctx, group)
}

// A fleet is several nodes behind a load balancer that sends each request to the
// next one.
type fleet struct {
	t     *testing.T
	store cluster.Store // as this test reaches it
	nodes []*node
	url   string // of the load balancer

	open      func() cluster.Store // for one replica
	serve     func(*node) mcp.Handler
	tasks     tasks.Store
	cancelled chan struct{} // of the tool slow, at any node

	mu   sync.Mutex
	next int
}

// newFleet starts replicas. change may change the options of each Handler.
func newFleet(t *testing.T, n int, change func(*streamable.Options)) *fleet {
	t.Helper()
	return newFleetOf(t, n, change, func(n *node) mcp.Handler { return n.server })
}

// newFleetOf starts replicas that serve what serve returns.
func newFleetOf(t *testing.T, n int, change func(*streamable.Options), serve func(*node) mcp.Handler) *fleet {
	t.Helper()
	store := cluster.NewMemory()
	return startFleet(&fleet{t: t, serve: serve, open: func() cluster.Store { return store }}, n, change)
}

// onRedis starts replicas that share a real Redis.
func onRedis(t *testing.T, s *redistest.Server, prefix string, n int) *fleet {
	t.Helper()
	return startFleet(&fleet{t: t, serve: func(n *node) mcp.Handler { return n.server }, open: func() cluster.Store {
		store, err := redis.Open(t.Context(), s.URL, &redis.Options{Prefix: prefix, Timeout: 30 * time.Second, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}}, n, nil)
}

func startFleet(f *fleet, n int, change func(*streamable.Options)) *fleet {
	t := f.t
	t.Helper()
	f.cancelled, f.store, f.tasks = make(chan struct{}, 100), f.open(), &tasks.Memory{}
	for range n {
		f.nodes = append(f.nodes, f.startNode(change))
	}
	balancer := httptest.NewServer(http.HandlerFunc(f.balance))
	f.url = balancer.URL
	t.Cleanup(func() { balancer.CloseClientConnections(); balancer.Close() })
	return f
}

func (f *fleet) startNode(change func(*streamable.Options)) *node {
	t := f.t
	t.Helper()
	n := &node{t: t, store: &nodeStore{Store: f.open()}, started: make(chan struct{}, 100), cancelled: f.cancelled, finish: make(chan struct{})}
	var err error
	if n.replica, err = cluster.Join(t.Context(), n.store, nil); err != nil {
		t.Fatal(err)
	}
	n.addFeatures(f.tasks)
	if err := n.server.ShareChanges(n.replica.Topic("changes")); err != nil {
		t.Fatal(err)
	}
	o := streamable.Options{Cluster: n.replica}
	if change != nil {
		change(&o)
	}
	if n.handler, err = streamable.NewHandler(f.serve(n), &o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.url = "http://" + l.Addr().String()
	n.web = streamable.NewHTTPServer(n.handler)
	served, strict := make(chan struct{}), streamable.StrictListener(n.web, l)
	go func() { defer close(served); n.web.Serve(strict) }()
	t.Cleanup(func() {
		n.web.Close()
		<-served
		n.handler.Shutdown()
		n.server.Close()
		n.replica.Close()
	})
	return n
}

// kill ends a node as SIGKILL would: its connections break, and its lease stays.
func (n *node) kill() {
	n.store.dead.Store(true)
	n.web.Close()
	n.replica.Close()
}

// balance sends a request to the next node that accepts connections.
func (f *fleet) balance(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	for range 20 {
		f.mu.Lock()
		n := f.nodes[f.next%len(f.nodes)]
		f.next++
		drained := n.drained
		if !drained {
			n.passing.Add(1)
		}
		f.mu.Unlock()
		if !drained && n.pass(w, r, body) {
			return
		}
	}
	http.Error(w, "no replica is there", http.StatusBadGateway)
}

var balancing = &http.Transport{MaxIdleConnsPerHost: 100}

// pass sends a request to a node. It reports false if the node accepts none.
func (n *node) pass(w http.ResponseWriter, r *http.Request, body []byte) bool {
	defer n.passing.Add(-1)
	at, _ := url.Parse(n.url)
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", at.Host, ""
	out.Host = at.Host
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	res, err := balancing.RoundTrip(out)
	if err != nil {
		if n.store.dead.Load() && r.Method != http.MethodPost {
			return false
		}
		if op, ok := err.(*net.OpError); ok && op.Op == "dial" {
			return false
		}
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	w.(http.Flusher).Flush()
	buf := make([]byte, 4096)
	for {
		k, err := res.Body.Read(buf)
		w.Write(buf[:k])
		w.(http.Flusher).Flush()
		if err == io.EOF {
			return true
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

type nameInput struct {
	Name string `json:"name"`
}

// addFeatures gives a node a server with a feature of each kind.
func (n *node) addFeatures(store tasks.Store) {
	t := n.t
	s := server.New(mcp.Implementation{Name: "fleet", Version: "1"}, nil)
	n.server = s
	server.AddTool(s, "add", "Add", func(_ context.Context, _ *mcp.Call, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }, nil)
	server.AddTool(s, "who", "Name the replica", func(context.Context, *mcp.Call, struct{}) (string, error) { return n.replica.ID(), nil }, nil)
	server.AddTool(s, "ask", "Ask two things", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		a, err := server.Elicit[nameInput](c, "one", "First?")
		if err != nil {
			return "", err
		}
		b, err := server.Elicit[nameInput](c, "two", "Second?")
		return a.Name + " and " + b.Name, err
	}, nil)
	server.AddTool(s, "question", "Ask one thing", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		n.started <- struct{}{}
		a, err := server.Elicit[nameInput](c, "one", "First?")
		return a.Name, err
	}, nil)
	server.AddTool(s, "sample", "Ask the model", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		r, err := server.Sample(c, "model", &mcp.CreateMessageParams{MaxTokens: 7, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("hi"))}}})
		if err != nil {
			return "", err
		}
		return r.Content.Blocks.Text(), nil
	}, nil)
	server.AddTool(s, "roots", "Ask for the roots", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		r, err := server.Roots(c, "roots")
		if err != nil {
			return "", err
		}
		return r[0].URI, nil
	}, nil)
	server.AddTool(s, "progress", "Report progress", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for i := 1; i <= 3; i++ {
			server.Progress(c, float64(i), 3, "")
		}
		return "done", nil
	}, nil)
	server.AddTool(s, "log", "Log", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		l := server.Logger(c, "test")
		l.Debug("quiet")
		l.Warn("loud")
		return "logged", nil
	}, nil)
	server.AddTool(s, "slow", "Wait to be cancelled", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 2, "")
		n.started <- struct{}{}
		<-ctx.Done()
		n.cancelled <- struct{}{}
		return "", ctx.Err()
	}, nil)
	server.AddTool(s, "hold", "Wait to be finished", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 2, "")
		n.started <- struct{}{}
		select {
		case <-n.finish:
			return "held by " + n.replica.ID(), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, nil)
	for _, uri := range []string{"test://one", "test://two"} {
		if err := s.AddResource(mcp.Resource{URI: uri, Name: uri[7:]}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "x"), nil
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	m, err := tasks.NewManager(s, &tasks.Options{PollInterval: 20 * time.Millisecond, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(s, "task", "Run as a task", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		a, err := server.Elicit[nameInput](c, "one", "Task?")
		return "task by " + a.Name, err
	}, m.Tool(tasks.Optional, nil))
}

// raw sends one HTTP request to a node and returns the response.
func (n *node) raw(method, session, body string, header ...string) *http.Response {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), method, n.url, bytes.NewReader([]byte(body)))
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { res.Body.Close() })
	return res
}

// say is raw, for a response that is not a stream.
func (n *node) say(method, session, body string, header ...string) (status int, answer string) {
	n.t.Helper()
	res := n.raw(method, session, body, header...)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// open opens a session of a client that can do everything.
func (n *node) open(header ...string) (session string) {
	n.t.Helper()
	res := n.raw("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`, header...)
	io.Copy(io.Discard, res.Body)
	session = res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || session == "" {
		n.t.Fatalf("initialize: %s", res.Status)
	}
	return session
}

// toolCall returns a call of a tool with a progress token.
func toolCall(id int, tool string) string {
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": map[string]any{}, "_meta": map[string]any{"progressToken": id},
	}})
	return string(b)
}

// waitUntil waits until ok reports true.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Error("not reached in a minute")
			return
		}
	}
}

func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		t.Fatalf("%s: not after a minute", what)
	}
	return v
}
