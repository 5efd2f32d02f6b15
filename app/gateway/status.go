package gateway

import (
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A ServerStatus says how a server of a [Router] is.
type ServerStatus struct {
	Name string
	// Settled is set when the first attempt to connect has ended.
	Settled bool
	// Connected is set if the server can be used.
	Connected bool
	// Why says why the server cannot be used; empty if it can, or if it was not
	// tried yet.
	Why string
	// Tools is the number of tools in the last list that was read; -1 if none
	// was. If callers have connections of their own, it is the largest number of
	// them.
	Tools int
	// Connections is the number of connections that are open: one if all callers
	// share it.
	Connections int
	// Users is the number of principals that have connections of their own; 0 if
	// all callers share one.
	Users int
	// Calls is the number of calls of clients, Failures the number of those
	// without a response. Lists and subscriptions are not counted.
	Calls, Failures int64
}

// Status returns how the servers are, sorted by name.
func (r *Router) Status() []ServerStatus {
	var all []ServerStatus
	for _, u := range r.table.Load().upstreams {
		counts := u.circuit.counts
		s := ServerStatus{Name: u.name, Connected: u.usable(), Tools: -1, Calls: counts.calls.Load(), Failures: counts.failures.Load()}
		for _, one := range u.all() {
			s.Tools = max(s.Tools, one.tools())
			if one.state() == connected {
				s.Connections++
			}
			if out := one.circuit.open.Load(); out != nil && (u.pool == nil || !s.Connected) {
				s.Why = out.cause.Error()
			}
		}
		s.Users = u.users()
		select {
		case <-u.settled:
			s.Settled = true
		default:
		}
		all = append(all, s)
	}
	return all
}

// users returns the number of principals with connections of their own.
func (u *upstream) users() int {
	if u.pool == nil {
		return 0
	}
	known := map[string]bool{}
	u.pool.mu.Lock()
	defer u.pool.mu.Unlock()
	for _, one := range u.pool.conns {
		known[one.lease.user] = true
	}
	return len(known)
}

// usable reports whether the server can be used. A server with connections for
// each caller can, unless all of them have failed.
func (u *upstream) usable() bool {
	if u.pool == nil {
		return u.state() == connected
	}
	all := u.all()
	return len(all) == 0 || slices.ContainsFunc(all, func(one *upstream) bool { return one.state() != failed })
}

// tools returns the number of tools in the last list; -1 if none was read.
func (u *upstream) tools() int {
	u.mu.Lock()
	known := u.lists[mcp.MethodToolsList]
	if known == nil || known.version == 0 {
		u.mu.Unlock()
		return -1
	}
	items := known.items
	u.mu.Unlock()
	n := 0
	list := append(append([]byte{'['}, items...), ']')
	for tools := rawjson.Array(list); tools.Next(); {
		n++
	}
	return n
}
