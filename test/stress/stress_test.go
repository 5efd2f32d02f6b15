package stress

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The resources that clients watch. tick changes all the time. last changes once
// while clients still drop and resume: those that resume must not miss it. end
// changes once everybody is connected for good.
const (
	tick = "stress://tick"
	last = "stress://last"
	end  = "stress://end"
)

// hangGuard bounds each wait of the test. It is reached only if something hangs.
const hangGuard = 2 * time.Minute

// length returns how long clients come and go: STRESS, or about three seconds.
func length(t *testing.T) time.Duration {
	text := os.Getenv("STRESS")
	if text == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("STRESS: %v", err)
	}
	return d
}

// A storm is one server, its endpoints, and the clients that come and go.
type storm struct {
	t     *testing.T
	srv   *server.Server
	door  *era.Server
	urls  []string      // of one HTTP server that takes connections over and one that does not
	trace *trace        // of the connections to them
	calm  chan struct{} // closed when clients connect for the last time
	fired atomic.Bool   // the resource last is about to change, or has
	ready sync.WaitGroup
	done  sync.WaitGroup
}

// TestEveryClientHearsTheLastChange runs clients of both eras over HTTP and
// pipes. It fails if one of them misses a change that it was promised, if a call
// whose client resumes gets no response, or if anything blocks for good.
func TestEveryClientHearsTheLastChange(t *testing.T) {
	s := &storm{t: t, calm: make(chan struct{}), trace: &trace{begun: time.Now(), conns: map[string]*tracedConn{}}}
	s.addFeatures()
	ctx, stop := context.WithCancel(context.Background())
	served := s.serve(ctx)
	changing, stopChanges := context.WithCancel(ctx)
	var changes sync.WaitGroup
	for range 3 {
		changes.Go(func() { s.change(changing) })
	}
	kinds := []func(*rand.Rand){
		s.rawNotifications, s.rawNotifications, s.rawCalls,
		s.modernHTTP, s.legacyHTTP, s.modernPipe, s.legacyPipe,
	}
	for i := range 6 * len(kinds) {
		s.ready.Add(1)
		s.done.Go(func() { kinds[i%len(kinds)](rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	time.Sleep(length(t))
	s.fired.Store(true)
	s.srv.ResourceUpdated(last)
	close(s.calm)
	s.wait("clients connect for the last time", &s.ready)
	s.srv.ResourceUpdated(end)
	s.wait("every client hears the last change", &s.done)
	stopChanges()
	s.wait("changes are announced", &changes)
	stop()
	s.wait("the servers end", served)
}

func (s *storm) addFeatures() {
	s.srv = server.New(mcp.Implementation{Name: "stress", Version: "1"}, &server.Options{
		ChangeDelay: time.Millisecond,
		Log:         slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	text := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", "x"), nil
	}
	for _, uri := range []string{tick, last, end} {
		if err := s.srv.AddResource(mcp.Resource{URI: uri, Name: uri[len("stress://"):]}, text, nil); err != nil {
			s.t.Fatal(err)
		}
	}
	server.AddTool(s.srv, "work", "Reports progress and returns", func(ctx context.Context, c *mcp.Call, in struct {
		Steps int `json:"steps"`
	}) (string, error) {
		for i := range in.Steps {
			server.Progress(c, float64(i+1), float64(in.Steps), "")
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return "DONE", nil
	}, nil)
}

// serve starts two HTTP servers and the server for pipes.
func (s *storm) serve(ctx context.Context) *sync.WaitGroup {
	var served sync.WaitGroup
	for _, takeOver := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		url := "http://" + l.Addr().String() + streamable.Path
		s.urls = append(s.urls, url)
		s.t.Logf("%s takes connections over: %v", url, takeOver)
		o := &streamable.Options{KeepAlive: 50 * time.Millisecond, Store: &streamable.Memory{Events: 256 << 20}}
		served.Go(func() {
			if err := serveHTTP(ctx, s.trace.listen(l), s.srv, o, takeOver); err != nil {
				s.t.Errorf("serve: %v", err)
			}
		})
	}
	var err error
	if s.door, err = era.NewServer(s.srv, nil); err != nil {
		s.t.Fatal(err)
	}
	return &served
}

// change changes lists and resources until ctx ends.
func (s *storm) change(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprint("tool", i%5)
		server.AddTool(s.srv, name, "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		s.srv.ResourceUpdated(tick)
		time.Sleep(500 * time.Microsecond)
		s.srv.RemoveTools(name)
	}
}

// wait waits for a group, and shows all goroutines if that takes too long.
func (s *storm) wait(what string, g *sync.WaitGroup) {
	s.t.Helper()
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(hangGuard):
		stacks := make([]byte, 1<<20)
		s.t.Fatalf("%s: not after %s\n%s", what, hangGuard, stacks[:runtime.Stack(stacks, true)])
	}
}

// isCalm reports whether a client that connects now stays.
func (s *storm) isCalm() bool {
	select {
	case <-s.calm:
		return true
	default:
		return false
	}
}

// A heard remembers which resources a client was told of.
type heard struct {
	mu   sync.Mutex
	uris []string
	all  chan struct{} // closed when the resource that ends the test was heard
}

func newHeard() *heard { return &heard{all: make(chan struct{})} }

func (h *heard) note(method, params string) {
	if method != mcp.NotificationResourceUpdated || strings.Contains(params, tick) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	uri := last
	if strings.Contains(params, end) {
		uri = end
	}
	if !slices.Contains(h.uris, uri) {
		h.uris = append(h.uris, uri)
		if uri == end {
			close(h.all)
		}
	}
}

func (h *heard) has(uri string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.uris, uri)
}
