package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A table holds the servers of a Router. It does not change: Update replaces it.
type table struct {
	r         *Router
	upstreams []*upstream // sorted by name
	byKey     map[string]*upstream
	private   bool // some servers have connections for each caller

	listTimeout time.Duration // as in Options

	merged listCache
}

// newTable returns a table of servers. A server that old has with the same
// Handler is kept with all that the Router knows about it.
func (r *Router) newTable(servers []Upstream, old *table) (*table, error) {
	t := &table{r: r, byKey: map[string]*upstream{}, listTimeout: r.opts.ListTimeout}
	for _, s := range servers {
		key := keyOf(s.Name)
		if t.byKey[key] != nil {
			return nil, fmt.Errorf("gateway: two servers are named %q", s.Name)
		}
		u := old.byKey[key]
		if u == nil || !same(&u.spec, &s) {
			u = newUpstream(r, s)
		}
		t.private = t.private || u.pool != nil
		t.upstreams = append(t.upstreams, u)
		t.byKey[key] = u
	}
	slices.SortFunc(t.upstreams, func(a, b *upstream) int { return strings.Compare(a.name, b.name) })
	return t, nil
}

// same reports whether two servers have equal Handlers, or the same Connections.
// Functions are never equal.
func same(a, b *Upstream) bool {
	if a.Connections != nil || b.Connections != nil {
		return a.Connections == b.Connections
	}
	return a.Handler != nil && reflect.TypeOf(a.Handler).Comparable() && a.Handler == b.Handler
}

// has reports whether u is in the table.
func (t *table) has(u *upstream) bool { return t.byKey[u.key] == u }

// Update replaces the servers of the Router, without an effect on open calls. A
// server with the same name and the same (==) Handler or Connections as before
// stays as it is.
// Each other server of before gets no further calls; when its open calls have
// ended, [Options].Released is called. Clients are notified that lists have changed,
// and subscriptions to resources of a server that was replaced continue at the
// new one. It is an error, and changes nothing, if two servers have the same
// name, an Override has a name that begins like those of another server, or the
// Router is closed.
func (r *Router) Update(servers []Upstream) error {
	return r.update(servers, func() allNames { return allNames{r.tools.Load(), r.prompts.Load()} })
}

// Replace is [Router.Update] and [Router.SetOverrides] in one step: the Overrides
// are checked with the new servers.
func (r *Router) Replace(servers []Upstream, tools, prompts map[string]Override) error {
	names, err := newNames(tools, prompts)
	if err != nil {
		return err
	}
	return r.update(servers, func() allNames { return names })
}

// update replaces servers and Overrides, and then notifies clients.
func (r *Router) update(servers []Upstream, names func() allNames) error {
	notify, err := r.replace(servers, names)
	if err == nil {
		notify()
	}
	return err
}

// replace does the work of update. It returns the function that notifies clients.
func (r *Router) replace(servers []Upstream, current func() allNames) (notify func(), err error) {
	r.updating.Lock()
	defer r.updating.Unlock()
	names, old := current(), r.table.Load()
	t, err := r.newTable(servers, old)
	if err == nil {
		err = names.check(t)
	}
	if err != nil {
		return nil, err
	}
	var added, removed []*upstream
	for _, u := range t.upstreams {
		if !old.has(u) {
			added = append(added, u)
		}
	}
	for _, u := range old.upstreams {
		if !t.has(u) {
			removed = append(removed, u)
		}
	}
	if len(added)+len(removed) == 0 {
		return r.setNames(names), nil
	}
	for _, u := range added {
		start := u.watch
		if u.pool != nil {
			start = func() {} // its connections start with the first call
		}
		if !r.spawn(start) {
			return nil, errClosed
		}
	}
	renamed := r.setNames(names)
	r.table.Store(t)
	for _, u := range removed {
		u.retire()
	}
	return func() {
		renamed()
		r.changes.announce(nil, allLists)
	}, nil
}

// route returns the server that the names of a call belong to, and the call's
// parameters with the names of that server. The caller calls release after the
// call: until then the server is not released.
func (r *Router) route(ctx context.Context, c *mcp.Call) (to *upstream, params []byte, err error) {
	if u := r.holds.take(c.State); u != nil {
		only := &table{r: r, upstreams: []*upstream{u}, byKey: map[string]*upstream{u.key: u}, listTimeout: r.opts.ListTimeout}
		if _, params, err = only.find(ctx, c); err != nil {
			u.inUse.release()
		}
		return u, params, err
	}
	for {
		to, params, err = r.table.Load().find(ctx, c)
		if err != nil || to.inUse.acquire() {
			return to, params, err
		}
		// Update has replaced the server meanwhile.
	}
}

// holds has the servers that wait for the next round of a call: only the
// connection where the call began can continue it. They count as in use.
type holds struct {
	mu      sync.Mutex
	byState map[string]hold
}

type hold struct {
	u      *upstream
	expiry *time.Timer
}

// holdLimit is how long a server may wait for the next round, as long as a
// connection does.
const holdLimit = 30 * time.Minute

// keep records that u waits for the next round if err says so, and returns the
// error for the caller.
func (h *holds) keep(u *upstream, err error) error {
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok || need.Abandon == nil || need.State == "" {
		return err
	}
	u.inUse.n.Add(1) // during the call, so that it is not idle yet
	drop := func() {
		if u := h.take(need.State); u != nil {
			u.inUse.release()
		}
	}
	h.mu.Lock()
	if h.byState == nil {
		h.byState = map[string]hold{}
	}
	h.byState[need.State] = hold{u, time.AfterFunc(holdLimit, drop)}
	h.mu.Unlock()
	kept := *need
	kept.Abandon = func() { drop(); need.Abandon() }
	return &kept
}

// take returns the server that waits for a round, which is in use, and forgets
// it. It returns nil if there is none.
func (h *holds) take(state string) *upstream {
	if state == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.byState[state]
	if ok {
		delete(h.byState, state)
		found.expiry.Stop()
	}
	return found.u
}

// Waiting returns the number of calls that wait for input and that a server keeps
// open meanwhile: only this process can continue them.
func (r *Router) Waiting() int {
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	return len(r.holds.byState)
}

// inUse counts the calls at a server, to know when the last one has ended.
type inUse struct {
	n    atomic.Int64 // calls; with retiredBit when no further one may begin
	idle chan struct{}
	once sync.Once
}

const retiredBit = 1 << 40

// acquire counts a call. It reports false if no further call may begin.
func (c *inUse) acquire() bool {
	if c.n.Add(1)&retiredBit == 0 {
		return true
	}
	c.release()
	return false
}

// release ends a call.
func (c *inUse) release() {
	if c.n.Add(-1) == retiredBit {
		c.once.Do(func() { close(c.idle) })
	}
}

// retire lets no further call begin.
func (c *inUse) retire() {
	c.n.Add(1 + retiredBit)
	c.release() // closes idle if there is no call
}

// retire ends what the Router runs for a server that it does not use any more.
// When its calls have ended, retire closes the connections of callers and calls
// Released.
func (u *upstream) retire() {
	u.inUse.retire()
	u.stop()
	ended := func() {
		select {
		case <-u.inUse.idle:
		case <-u.r.ctx.Done():
		}
		if u.pool != nil {
			u.pool.close()
		}
		if u.r.opts.Released != nil && u.r.ctx.Err() == nil {
			u.r.opts.Released(u.spec)
		}
	}
	if !u.r.spawn(ended) {
		ended() // the Router is closed
	}
}
