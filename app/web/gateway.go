package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/internal/definition"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// GatewayOptions configure a [Gateway].
type GatewayOptions struct {
	// URL is the address that clients of the gateway use.
	URL string
	// Observer has the callers and the latest calls.
	Observer *gateway.Observer
	// Names says whose the names in calls are; it may return nil.
	Names func() gateway.Resolver
	// Servers returns the servers, each as JSON with name, state, why, revision and
	// tools.
	Servers func() []json.RawMessage
	// Pins returns the pins; nil if definitions are not pinned.
	Pins func() *gateway.Pins
	// Hosts are further host names that the page may be reached under.
	Hosts []string
}

// A Gateway serves the page of a gateway: its callers, servers and calls, and the
// definitions that wait for approval. It admits only the browser that was given
// the token.
type Gateway struct {
	opts    GatewayOptions
	guard   *guard
	mux     *http.ServeMux
	started time.Time
	ctx     context.Context
	stop    context.CancelFunc
}

// NewGateway returns the page of a gateway.
func NewGateway(o GatewayOptions) *Gateway {
	g := &Gateway{opts: o, guard: newGuard(o.Hosts, gatewayDocument), started: time.Now()}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.mux = http.NewServeMux()
	g.mux.Handle("GET /api/v1/gateway", jsonHandler(g.state))
	g.mux.Handle("POST /api/v1/gateway/approve", jsonHandler(g.approve))
	g.mux.HandleFunc("GET /api/v1/gateway/events", g.events)
	g.mux.HandleFunc("POST /api/v1/login", g.guard.login)
	g.mux.Handle("GET /", static(gatewayDocument))
	return g
}

func newGuard(hosts []string, doc func() *document) *guard {
	return &guard{doc: doc, token: rand.Text() + rand.Text(), hosts: hosts, cookie: "tenon_" + rand.Text()[:8], cookies: map[string]bool{}, bearers: map[string]bool{}}
}

// NewToken returns a new token, which replaces the one of before.
func (g *Gateway) NewToken() string { return g.guard.renew() }

// ServeHTTP serves the page and its API.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.guard.refuses(w, r) {
		g.mux.ServeHTTP(w, r)
	}
}

// Serve serves on a listener until ctx ends.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	return serveUntil(ctx, l, g, g.stop, g.stop)
}

// A gatewayState is what the page shows.
type gatewayState struct {
	Version string                 `json:"version"`
	URL     string                 `json:"url"`
	Started time.Time              `json:"started"`
	Callers []gateway.CallerStatus `json:"callers"`
	Servers []json.RawMessage      `json:"servers"`
	Calls   []gatewayCall          `json:"calls"`
	Pinned  bool                   `json:"pinned"`
	Pins    int                    `json:"pins"` // how many definitions are approved
	Held    []heldPin              `json:"held"`
}

// A gatewayCall is a call; its duration is in milliseconds.
type gatewayCall struct {
	gateway.CallStatus
	Ms float64 `json:"ms"`
}

// A heldPin is a definition that waits for approval.
type heldPin struct {
	Server   string              `json:"server"`
	Kind     string              `json:"kind"`
	Name     string              `json:"name"`
	Digest   string              `json:"digest"`
	New      bool                `json:"new"`
	Text     string              `json:"text"` // the whole definition
	Changes  []definition.Change `json:"changes"`
	Warnings []string            `json:"warnings"`
}

const shownCalls = 100

func (g *Gateway) state(*http.Request) (any, error) {
	var names gateway.Resolver
	if g.opts.Names != nil {
		names = g.opts.Names()
	}
	s := gatewayState{Version: version.String(), URL: g.opts.URL, Started: g.started, Callers: g.opts.Observer.Callers(), Servers: g.opts.Servers(), Held: []heldPin{}, Calls: []gatewayCall{}}
	for _, c := range g.opts.Observer.Calls(names) {
		if len(s.Calls) < shownCalls {
			s.Calls = append(s.Calls, gatewayCall{c, float64(c.Duration.Microseconds()) / 1000})
		}
	}
	pins := g.opts.Pins()
	if pins == nil {
		return s, nil
	}
	s.Pinned = true
	for _, p := range pins.List() {
		if p.Approved != nil {
			s.Pins++
		}
		if p.Held != nil {
			s.Held = append(s.Held, heldPin{Server: p.Server, Kind: p.Kind, Name: p.Name, Digest: p.Held.Digest, New: p.Approved == nil && !p.Variant,
				Text: string(p.Held.Definition), Changes: append([]definition.Change{}, p.Changes()...), Warnings: append([]string{}, p.Warnings()...)})
		}
	}
	return s, nil
}

// approve approves exactly the definition that the page has shown.
func (g *Gateway) approve(r *http.Request) (any, error) {
	var q struct {
		Server string `json:"server"`
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		Digest string `json:"digest"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	pins := g.opts.Pins()
	if pins == nil {
		return nil, missing("definitions are not pinned")
	}
	done, err := pins.Approve(func(p gateway.Pin) bool {
		return p.Server == q.Server && p.Kind == q.Kind && p.Name == q.Name && p.Held != nil && p.Held.Digest == q.Digest
	})
	if err != nil {
		return nil, err
	}
	if len(done) == 0 {
		return nil, fault{http.StatusConflict, fmt.Errorf("the definition has changed again, or was approved already")}
	}
	return map[string]any{}, nil
}

const (
	gatewayPause = 300 * time.Millisecond // between two events
	gatewayPoll  = 2 * time.Second        // servers and pins are looked at this often
)

// events tells the page when to get the state again. Servers and pins have no
// notification, so their state is compared.
func (g *Gateway) events(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	changed, stop := g.opts.Observer.Watch()
	defer stop()
	poll := time.NewTicker(gatewayPoll)
	defer poll.Stop()
	last := g.slow()
	for {
		control.SetWriteDeadline(time.Now().Add(idleTimeout))
		if _, err := fmt.Fprint(w, "event: changed\ndata: {}\n\n"); err != nil || control.Flush() != nil {
			return
		}
		if !g.wait(r, changed, poll.C, &last) {
			return
		}
	}
}

// wait waits until something has changed, and then for a moment. It reports false
// when the page has gone.
func (g *Gateway) wait(r *http.Request, changed <-chan struct{}, poll <-chan time.Time, last *[]byte) bool {
	for waiting := true; waiting; {
		select {
		case <-changed:
			waiting = false
		case <-poll:
			now := g.slow()
			waiting = slices.Equal(now, *last)
			*last = now
		case <-r.Context().Done():
			return false
		case <-g.ctx.Done():
			return false
		}
	}
	select {
	case <-time.After(gatewayPause):
		return true
	case <-r.Context().Done():
		return false
	case <-g.ctx.Done():
		return false
	}
}

// slow returns the part of the state that has no notifications.
func (g *Gateway) slow() []byte {
	var held []string
	if pins := g.opts.Pins(); pins != nil {
		for _, p := range pins.List() {
			if p.Held != nil {
				held = append(held, p.String()+p.Held.Digest)
			}
		}
	}
	raw, err := mcp.Marshal(map[string]any{"servers": g.opts.Servers(), "held": held})
	if err != nil {
		return nil
	}
	return raw
}
