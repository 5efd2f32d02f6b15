package gateway

import (
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
	// Tools is the number of tools in the last list that was read; -1 if none
	// was.
	Tools int
}

// Status returns how the servers are, sorted by name.
func (r *Router) Status() []ServerStatus {
	var all []ServerStatus
	for _, u := range r.table.Load().upstreams {
		s := ServerStatus{Name: u.name, Connected: u.state() == connected, Tools: u.tools()}
		select {
		case <-u.settled:
			s.Settled = true
		default:
		}
		all = append(all, s)
	}
	return all
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
