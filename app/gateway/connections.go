package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Scope says which callers share a connection to a server.
type Scope string

const (
	// PerUser connections belong to one principal each. All callers that are not
	// authenticated are one user.
	PerUser Scope = "user"
	// PerGrant connections belong to one principal with one set of scopes each:
	// what the gateway gets for a token is not for other tokens of the same user
	// that allow less.
	PerGrant Scope = "grant"
	// PerSession connections belong to one [mcp.Session] each. A caller without
	// a session, which is a client of 2026-07-28 over HTTP, shares a connection
	// with the other calls of its principal that have none.
	PerSession Scope = "session"
)

// Connections gives callers connections of their own to a server. Each has its own
// lists, subscriptions and tasks.
type Connections struct {
	// Scope says who shares a connection.
	Scope Scope
	// Dial opens the connection of a caller. The context ends with the
	// connection. The caller's session may be restored during the life of the
	// connection, and then has another [mcp.Session] with the same ID.
	Dial func(ctx context.Context, caller mcp.Caller) (mcp.Conn, error)
	// Max is the number of connections. If there are as many, the one that has
	// been idle for longest is closed for a new one; if all are in use, calls of
	// further callers fail. 0 means 64.
	Max int
	// Idle is how long a connection is kept that is not in use. 0 means 10
	// minutes. A call in progress, a subscription to a resource, an open input
	// request and a task that runs keep a connection in use; a subscription to
	// changes of lists does not.
	Idle time.Duration
}

// key returns the key of the connection of a caller.
func (s Scope) key(c *mcp.Caller) string {
	switch {
	case s == PerSession && c.Session != nil:
		return "session\x00" + c.Session.ID() + "\x00" + GrantKey(c.Principal)
	case s == PerGrant:
		return "grant\x00" + GrantKey(c.Principal)
	}
	return "user\x00" + c.Principal.Key()
}

// GrantKey returns a key of a principal with its scopes, in any order.
func GrantKey(p *mcp.Principal) string {
	if p == nil {
		return p.Key()
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(p.Scopes)))
	return p.Key() + "\x00" + strings.Join(scopes, " ")
}

// A pool has the connections of the callers of one server.
type pool struct {
	Connections
	server *upstream

	mu     sync.Mutex
	conns  map[string]*upstream
	ending int         // connections that are not in conns any more and not closed yet
	sweep  *time.Timer // closes idle connections; nil if there are none
	closed bool
}

func newPool(server *upstream, o Connections) *pool {
	o.Max, o.Idle = cmp.Or(max(o.Max, 0), 64), cmp.Or(max(o.Idle, 0), 10*time.Minute)
	return &pool{Connections: o, server: server, conns: map[string]*upstream{}}
}

// A lease says how long a connection of a pool is needed. pool.mu guards it.
type lease struct {
	owner   string // the key in the pool
	user    string // the key of the principal
	busy    int    // calls and subscriptions that use it
	used    time.Time
	open    map[string]time.Time // what is unfinished without a call, and until when it counts; see hold
	session *mcp.Session         // whose end is observed; nil if none
	forget  func()               // stops observing it
}

// inUse reports whether the connection must not be closed.
func (l *lease) inUse(now time.Time) bool { return l.busy > 0 || now.Before(l.keep(now)) }

// keep returns until when the connection is in use without a call.
func (l *lease) keep(now time.Time) (until time.Time) {
	for key, end := range l.open {
		if !now.Before(end) {
			delete(l.open, key)
		} else if end.After(until) {
			until = end
		}
	}
	return until
}

// of returns the connection of a caller, in use until release is called. For a
// server with one connection for all it is u itself.
func (u *upstream) of(c *mcp.Caller) (*upstream, error) {
	if u.pool == nil {
		return u, nil
	}
	return u.pool.acquire(c)
}

// known returns the connection of a caller, or nil if there is none. It is not in
// use.
func (u *upstream) known(c *mcp.Caller) *upstream {
	if u.pool == nil {
		return u
	}
	u.pool.mu.Lock()
	defer u.pool.mu.Unlock()
	return u.pool.conns[u.pool.Scope.key(c)]
}

// all returns all connections of a server.
func (u *upstream) all() []*upstream {
	if u.pool == nil {
		return []*upstream{u}
	}
	u.pool.mu.Lock()
	defer u.pool.mu.Unlock()
	var all []*upstream
	for _, one := range u.pool.conns {
		all = append(all, one)
	}
	return all
}

// connections returns the connection of a caller, if there is one, and all
// connections for nil. They are not in use.
func (u *upstream) connections(c *mcp.Caller) []*upstream {
	if c == nil {
		return u.all()
	}
	if one := u.known(c); one != nil {
		return []*upstream{one}
	}
	return nil
}

// release ends the use of a connection that of returned.
func (u *upstream) release() {
	if u.in != nil {
		u.in.release(u)
	}
}

// acquire returns the connection of a caller, and opens it if there is none.
func (p *pool) acquire(c *mcp.Caller) (*upstream, error) {
	key := p.Scope.key(c)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, mcp.Errorf(mcp.CodeInternal, "server %s: the gateway is shutting down", p.server.name)
	}
	one := p.conns[key]
	var evicted *upstream
	if one == nil {
		if len(p.conns)+p.ending >= p.Max {
			if evicted = p.oldestLocked(time.Now()); evicted == nil {
				p.mu.Unlock()
				return nil, mcp.Refusal(http.StatusServiceUnavailable, failurePause, "server %s: all %d connections of the gateway are in use; try again later", p.server.name, p.Max)
			}
			p.removeLocked(evicted)
		}
		one = p.newLocked(key, c.Principal.Key())
	}
	one.lease.busy++
	observe := p.Scope == PerSession && c.Session != nil && one.lease.session != c.Session
	if observe {
		one.lease.session = c.Session
	}
	isNew := one.lease.used.IsZero()
	one.lease.used = time.Now()
	p.mu.Unlock()
	if isNew {
		p.start(one, *c, evicted)
	}
	if observe {
		p.observe(one, c.Session)
	}
	return one, nil
}

// newLocked adds a connection that is not open yet.
func (p *pool) newLocked(key, user string) *upstream {
	one := newConnection(p.server, &dialing{done: make(chan struct{})})
	one.in, one.lease.owner, one.lease.user = p, key, user
	p.conns[key] = one
	return one
}

// start opens a connection in the background, after evicted is closed: there are
// never more than Max.
func (p *pool) start(one *upstream, c mcp.Caller, evicted *upstream) {
	d := one.handler.(*dialing)
	run := func() {
		p.end(evicted)
		conn, err := p.Dial(one.ctx, c)
		d.finish(conn, err)
		if err != nil {
			p.discard(one)
			return
		}
		one.watch()
	}
	if !p.server.r.spawn(run) {
		d.finish(nil, errors.New("the gateway is shutting down"))
	}
}

// observe closes a connection when its session ends.
func (p *pool) observe(one *upstream, s *mcp.Session) {
	stop := s.AfterEnd(func() {
		if p.take(one) {
			p.server.r.spawn(func() { p.end(one) })
		}
	})
	p.mu.Lock()
	old := one.lease.forget
	if one.lease.forget = stop; one.lease.session != s {
		one.lease.forget, old = old, stop // another one is observed meanwhile
	}
	p.mu.Unlock()
	if old != nil {
		old()
	}
}

// release ends the use of a connection by a call.
func (p *pool) release(one *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.lease.busy--
	one.lease.used = time.Now()
	if one.lease.busy == 0 && p.sweep == nil && !p.closed {
		p.sweep = time.AfterFunc(p.Idle, p.sweepIdle)
	}
}

// Without a call, an open input request keeps a connection for inputKeep, and a
// task for its time to live, taskKeep at most.
const (
	inputKeep = 5 * time.Minute
	taskKeep  = time.Hour
	// maxOpen is how many input requests and tasks of a connection are known one
	// by one. Others keep it for their whole time.
	maxOpen = 1000
)

// hold keeps the connection of a call that is not finished: one that needs input,
// or one that runs as a task.
func (u *upstream) hold(res *mcp.Result, err error) {
	if u.in == nil {
		return
	}
	var keep time.Duration
	var key string
	if need, ok := errors.AsType[*mcp.InputRequired](err); ok && need.Abandon != nil {
		keep, key = inputKeep, inputKey(need.State)
	}
	if err == nil && res.Type == "task" {
		keep, key = taskKeep, taskKey(res.Body)
		if ms, err := strconv.ParseInt(string(rawjson.Lookup(res.Body, "ttlMs")), 10, 64); err == nil {
			keep = min(keep, time.Duration(ms)*time.Millisecond)
		}
	}
	if keep <= 0 {
		return
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	if len(u.lease.open) >= maxOpen {
		key = ""
	}
	if u.lease.open == nil {
		u.lease.open = map[string]time.Time{}
	}
	if until := time.Now().Add(keep); until.After(u.lease.open[key]) {
		u.lease.open[key] = until
	}
}

// continued notes that a call goes on with the state of an input request.
func (u *upstream) continued(state string) {
	if u.in != nil && state != "" {
		u.finish(inputKey(state))
	}
}

// heard notes what a result or a notification of the server says about a task.
func (u *upstream) heard(method string, body []byte) {
	if u.in == nil || !strings.HasPrefix(method, "tasks/") && !strings.HasPrefix(method, "notifications/tasks") {
		return
	}
	switch status, _ := rawjson.String(rawjson.Lookup(body, "status")); status {
	case "completed", "failed", "cancelled":
		u.finish(taskKey(body))
	}
}

func inputKey(state string) string { return "input " + state }

func taskKey(body []byte) string { return "task " + string(rawjson.Lookup(body, "taskId")) }

// finish ends what hold began.
func (u *upstream) finish(key string) {
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	delete(u.lease.open, key)
}

// oldestLocked returns the connection that has not been used for longest and is
// not in use; nil if there is none.
func (p *pool) oldestLocked(now time.Time) (oldest *upstream) {
	for _, one := range p.conns {
		if !one.lease.inUse(now) && (oldest == nil || one.lease.used.Before(oldest.lease.used)) {
			oldest = one
		}
	}
	return oldest
}

// removeLocked removes a connection; the caller closes it with end.
func (p *pool) removeLocked(one *upstream) {
	delete(p.conns, one.lease.owner)
	p.ending++
}

// take removes a connection, and reports false if it was removed already.
func (p *pool) take(one *upstream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[one.lease.owner] != one {
		return false
	}
	p.removeLocked(one)
	return true
}

// discard removes and closes a connection that cannot be used any more. The next
// call of its callers opens another one.
func (p *pool) discard(one *upstream) {
	if p.take(one) {
		p.end(one)
	}
}

// end closes a connection that was removed.
func (p *pool) end(one *upstream) {
	if one == nil {
		return
	}
	one.stop()
	one.handler.(*dialing).close()
	p.mu.Lock()
	p.ending--
	forget := one.lease.forget
	p.mu.Unlock()
	if forget != nil {
		forget()
	}
}

// sweepIdle closes the connections that have been idle for too long.
func (p *pool) sweepIdle() {
	now := time.Now()
	var idle []*upstream
	next := p.Idle
	p.mu.Lock()
	for _, one := range p.conns {
		left := max(p.Idle-now.Sub(one.lease.used), one.lease.keep(now).Sub(now))
		switch {
		case one.lease.busy > 0:
		case left > 0:
			next = min(next, left)
		default:
			idle = append(idle, one)
			p.removeLocked(one)
		}
	}
	if p.sweep = nil; len(p.conns) > 0 && !p.closed {
		p.sweep = time.AfterFunc(next, p.sweepIdle)
	}
	p.mu.Unlock()
	for _, one := range idle {
		p.server.r.spawn(func() { p.end(one) })
	}
}

// close closes all connections and waits for it.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	var all []*upstream
	for _, one := range p.conns {
		all = append(all, one)
		p.removeLocked(one)
	}
	p.mu.Unlock()
	var closing sync.WaitGroup
	for _, one := range all {
		closing.Go(func() { p.end(one) })
	}
	closing.Wait()
}

// A dialing is a connection that is being opened. Calls wait for it.
type dialing struct {
	done chan struct{} // closed when conn or err is set
	conn mcp.Conn
	err  error
}

func (d *dialing) finish(conn mcp.Conn, err error) {
	d.conn, d.err = conn, err
	close(d.done)
}

// Serve implements [mcp.Handler].
func (d *dialing) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	select {
	case <-d.done:
	case <-ctx.Done():
		return mcp.Result{}, ctx.Err()
	}
	if d.err != nil {
		return mcp.Result{}, d.err
	}
	return d.conn.Serve(ctx, c)
}

func (d *dialing) close() {
	<-d.done
	if d.conn != nil {
		_ = d.conn.Close() // it reports how the server ended, which nobody needs any more
	}
}
