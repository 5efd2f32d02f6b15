package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// bounds are the upper bounds of the buckets of durations in seconds, as the
// semantic conventions of OpenTelemetry for MCP advise.
var bounds = [...]float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// A histogram counts durations.
type histogram struct {
	buckets [len(bounds) + 1]atomic.Uint64
	sum     atomic.Int64 // nanoseconds
}

func (h *histogram) add(d time.Duration) {
	s, i := d.Seconds(), 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.sum.Add(int64(d))
}

// counts is a histogram at one moment.
type counts struct {
	buckets [len(bounds) + 1]uint64
	count   uint64
	sum     float64 // seconds
}

func (h *histogram) read() (c counts) {
	for i := range h.buckets {
		c.buckets[i] = h.buckets[i].Load()
		c.count += c.buckets[i]
	}
	c.sum = time.Duration(h.sum.Load()).Seconds()
	return c
}

func (c *counts) add(more counts) {
	for i, n := range more.buckets {
		c.buckets[i] += n
	}
	c.count += more.count
	c.sum += more.sum
}

// A series has the measurements of calls with the same method, server and tool.
type series struct {
	labels
	inFlight atomic.Int64
	by       [outcome.Count]atomic.Pointer[histogram]
}

// labels say what a series is about. Tool is the server's own name of a tool or a
// prompt, or empty.
type labels struct{ method, server, tool string }

func (s *series) record(o outcome.Outcome, d time.Duration) {
	h := s.by[o].Load()
	if h == nil {
		s.by[o].CompareAndSwap(nil, new(histogram))
		h = s.by[o].Load()
	}
	h.add(d)
}

// maxSeries bounds the number of series. Further calls are counted for their
// method alone.
const maxSeries = 4000

// maxLabel bounds the length of a label in bytes.
const maxLabel = 128

// A registry has the series. Reading a series that exists takes no lock.
type registry struct {
	byName  atomic.Pointer[map[string]*series] // by method and the client's name of a tool
	byLabel atomic.Pointer[map[labels]*series]
	mu      sync.Mutex
}

// A Resolver says which server a name that clients use belongs to, and how that
// server calls it. A gateway.Router is one. If it also has the method
//
//	Lists(ctx context.Context, c *mcp.Caller, kind, name string) bool
//
// then names for which that reports false count without the tool: clients may
// invent them. The caller is always nil: both say what is known of any caller.
type Resolver interface {
	Resolve(ctx context.Context, c *mcp.Caller, kind, name string) (server, own string, ok bool)
}

type lister interface {
	Lists(ctx context.Context, c *mcp.Caller, kind, name string) bool
}

// named are the methods whose parameters have a name that makes a series, and the
// kind of the name.
var named = map[string]string{mcp.MethodToolsCall: "tool", mcp.MethodPromptsGet: "prompt"}

// of returns the series of a call. Names that no server has do not make a series.
func (r *registry) of(ctx context.Context, c *mcp.Call, names Resolver) *series {
	kind := named[c.Method]
	if kind == "" {
		return r.get(labels{method: methodLabel(c.Method), server: r.serverOf(ctx, c, names)})
	}
	raw := rawjson.Lookup(c.Params, "name")
	var scratch [160]byte
	key := append(append(scratch[:0], c.Method...), raw...)
	if m := r.byName.Load(); m != nil {
		if s := (*m)[string(key)]; s != nil {
			return s
		}
	}
	name, _ := rawjson.String(raw)
	l := labels{method: c.Method}
	if names != nil {
		var ok bool
		if l.server, l.tool, ok = names.Resolve(ctx, nil, kind, name); !ok {
			return r.get(labels{method: c.Method})
		}
		if known, ok := names.(lister); ok && !known.Lists(ctx, nil, kind, name) {
			l.tool = ""
		}
	}
	s := r.get(l)
	if names != nil && s.tool != "" {
		r.remember(string(key), s)
	}
	return s
}

// serverOf returns the server that a URI in the parameters belongs to.
func (r *registry) serverOf(ctx context.Context, c *mcp.Call, names Resolver) string {
	if names == nil || c.Method != mcp.MethodResourcesRead {
		return ""
	}
	uri, _ := rawjson.String(rawjson.Lookup(c.Params, "uri"))
	server, _, _ := names.Resolve(ctx, nil, "uri", uri)
	return server
}

// methodLabel returns a method that the protocol knows; clients may send any.
func methodLabel(method string) string {
	switch method {
	case mcp.MethodDiscover, mcp.MethodPing, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList,
		mcp.MethodResourcesRead, mcp.MethodSubscriptionsListen, mcp.MethodComplete:
		return method
	}
	for _, e := range mcp.RegisteredExtensions() {
		for _, rule := range e.Names {
			if rule.Method == method {
				return method
			}
		}
	}
	return "other"
}

// get returns the series with labels.
func (r *registry) get(l labels) *series {
	l.server, l.tool = textclip.Clip(l.server, maxLabel), textclip.Clip(l.tool, maxLabel)
	if m := r.byLabel.Load(); m != nil {
		if s := (*m)[l]; s != nil {
			return s
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.all()
	if len(old) >= maxSeries && l != (labels{method: l.method}) {
		l = labels{method: l.method}
	}
	if s := old[l]; s != nil {
		return s
	}
	s := &series{labels: l}
	r.byLabel.Store(with(old, l, s))
	return s
}

// all returns the series by their labels. The map does not change.
func (r *registry) all() map[labels]*series {
	if m := r.byLabel.Load(); m != nil {
		return *m
	}
	return nil
}

// remember finds a series by the name that clients use.
func (r *registry) remember(key string, s *series) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var old map[string]*series
	if m := r.byName.Load(); m != nil {
		old = *m
	}
	if len(old) < maxSeries {
		r.byName.Store(with(old, key, s))
	}
}

// forget drops what is known about the names that clients use.
func (r *registry) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName.Store(nil)
}

// with returns a copy of a map with one more entry.
func with[K comparable](m map[K]*series, key K, s *series) *map[K]*series {
	next := make(map[K]*series, len(m)+1)
	for k, v := range m {
		next[k] = v
	}
	next[key] = s
	return &next
}
