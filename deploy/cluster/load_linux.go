package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A shop is the server behind the replicas, at two URLs: url speaks all revisions,
// old only the older ones.
type shop struct {
	url, old string
	stop     []func()
}

func openShop() (*shop, error) {
	s := server.New(mcp.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddTool(s, "add", "Add numbers", func(_ context.Context, _ *mcp.Call, in struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (string, error) {
		return fmt.Sprint(in.A + in.B), nil
	}, &server.ToolOptions{Annotations: server.ReadOnly()})
	server.AddTool(s, "order", "Order tea, once the amount is known", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		answer, err := server.Elicit[struct {
			Grams int `json:"grams"`
		}](c, "grams", "How much tea?")
		return fmt.Sprint(answer.Grams), err
	}, nil)
	h := &shop{}
	for _, legacy := range []bool{false, true} {
		web, err := streamable.NewHandler(s, &streamable.Options{Era: era.ServerOptions{LegacyOnly: legacy}})
		if err != nil {
			return nil, err
		}
		site := httptest.NewServer(web)
		h.stop = append(h.stop, web.Shutdown, site.CloseClientConnections, site.Close)
		h.url, h.old = h.old, site.URL
	}
	return h, nil
}

func (h *shop) close() {
	for _, stop := range h.stop {
		stop()
	}
}

// Revisions of the clients.
const (
	modern = mcp.Rev20260728
	legacy = mcp.Rev20250618
)

// dial connects a client of a revision.
func dial(ctx context.Context, url string, rev mcp.Revision, t http.RoundTripper) (*client.Client, error) {
	o := &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		return e.Accept(map[string]any{"grams": 100})
	}}
	return client.Dial(ctx, &streamclient.Endpoint{URL: url, HTTP: &http.Client{Transport: t}, Era: era.DialOptions{Known: rev}}, o)
}

// add calls the tool add, which is safe to repeat, and checks the result.
func add(ctx context.Context, c *client.Client, n int) error {
	res, err := c.CallTool(ctx, "shop__add", map[string]any{"a": n, "b": 1}, nil)
	if err == nil && res.Content.Text() != fmt.Sprint(n+1) {
		err = fmt.Errorf("the result is %q", res.Content.Text())
	}
	return err
}

// A tally counts the calls of one kind of client.
type tally struct {
	calls    int           // that succeeded
	failures int           // attempts that failed
	repeated int           // calls that succeeded after a failure
	lost     int           // calls that did not succeed in time
	worst    time.Duration // from the first attempt of a repeated call to its success
	slowest  time.Duration // of all calls
	last     error
}

// A load is clients that call through nginx without end.
type load struct {
	every time.Duration // between the calls of a client; 0: none

	mu     sync.Mutex
	tally  map[mcp.Revision]*tally
	served map[string]int // responses by the address of the replica
	failed map[string]int // responses with status 502 to 504
	moved  map[string]int // requests that nginx sent to another replica instead
}

// giveUp is when a call counts as lost.
const giveUp = 10 * time.Second

func newLoad(every time.Duration) *load {
	return &load{every: every, tally: map[mcp.Revision]*tally{modern: {}, legacy: {}},
		served: map[string]int{}, failed: map[string]int{}, moved: map[string]int{}}
}

// run calls with clients of each era until ctx ends.
func (l *load) run(ctx context.Context, url string, clients int) error {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 2 * clients {
		rev := []mcp.Revision{modern, legacy}[i%2]
		c, err := dial(ctx, url, rev, l.observe(transport()))
		if err != nil {
			return fmt.Errorf("connect to nginx: %w", err)
		}
		all.Go(func() {
			defer c.Close()
			for n := 0; ctx.Err() == nil; n++ {
				l.call(ctx, c, rev, n)
				time.Sleep(l.every)
			}
		})
	}
	return nil
}

// call makes one call. If it fails, call repeats it, as a client may do with a
// tool that is read-only.
func (l *load) call(ctx context.Context, c *client.Client, rev mcp.Revision, n int) {
	began, failures := time.Now(), 0
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUp)
	defer cancel()
	err := add(limit, c, n)
	for ; err != nil && limit.Err() == nil; err = add(limit, c, n) {
		failures++
		l.note(rev, func(t *tally) { t.failures, t.last = t.failures+1, err })
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	l.note(rev, func(t *tally) {
		t.slowest = max(t.slowest, took)
		switch {
		case err != nil:
			t.lost, t.last = t.lost+1, err
		case failures > 0:
			t.repeated, t.worst = t.repeated+1, max(t.worst, took)
			fallthrough
		default:
			t.calls++
		}
	})
}

func (l *load) note(rev mcp.Revision, f func(*tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.tally[rev])
}

// of returns the tally of a revision.
func (l *load) of(rev mcp.Revision) tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.tally[rev]
}

// transport returns connections of their own.
func transport() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: 64} }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// observe counts the responses of each replica, whose address nginx tells.
func (l *load) observe(t http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := t.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		tried := strings.Split(resp.Header.Get("X-Replica"), ", ")
		last := len(tried) - 1
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, addr := range tried[:last] {
			l.moved[addr]++
		}
		if resp.StatusCode >= http.StatusBadGateway && resp.StatusCode <= http.StatusGatewayTimeout {
			l.failed[tried[last]]++
		} else {
			l.served[tried[last]]++
		}
		return resp, nil
	})
}
