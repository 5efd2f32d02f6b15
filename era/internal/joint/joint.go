// Package joint holds what both wings of the door need at the client's end of
// a connection: the link itself, and calls that are open on it.
package joint

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Link carries requests to one far end. A jsonrpc.Conn is one.
type Link interface {
	NextID() int64
	Start(ctx context.Context, id int64, method string, params []byte) (*jsonrpc.Pending, error)
	Notify(ctx context.Context, method string, params []byte) error
	// Done is closed when the link has ended, or when what the server sends by
	// itself was interrupted, so that something may have been missed.
	Done() <-chan struct{}
}

// maxNotes is how many notes may wait for one call before it fails: dropping
// some would be worse than saying so.
const maxNotes = 4096

// An Open is a call that was sent and is not answered. Notes for it are put in
// by the goroutine that reads the link and taken out by the one that waits for
// the answer, so a caller that hears slowly holds up nobody else.
type Open struct {
	ID      int64
	Call    *mcp.Call
	Pending *jsonrpc.Pending

	mu    sync.Mutex
	notes []mcp.Note
	lost  bool
	ready chan struct{} // has a token when notes wait; nil if nobody hears
}

// NewOpen returns an Open that can take notes if c can hear them.
func NewOpen(id int64, c *mcp.Call) *Open {
	o := new(Open)
	o.Begin(id, c)
	return o
}

// Begin is NewOpen for an Open that is part of something else.
func (o *Open) Begin(id int64, c *mcp.Call) {
	o.ID, o.Call = id, c
	if c.Side != nil {
		o.ready = make(chan struct{}, 1)
	}
}

// Put adds a note.
func (o *Open) Put(n mcp.Note) {
	if o.ready == nil {
		return
	}
	o.mu.Lock()
	if len(o.notes) < maxNotes {
		o.notes = append(o.notes, n)
	} else {
		o.lost = true
	}
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// Ready has a token when Deliver has something to do.
func (o *Open) Ready() <-chan struct{} { return o.ready }

// Deliver tells the notes that wait to side, and reports an error when there
// were too many of them.
func (o *Open) Deliver(side func(mcp.Note)) error {
	if o.ready == nil {
		return nil
	}
	o.mu.Lock()
	notes, lost := o.notes, o.lost
	o.notes = nil
	o.mu.Unlock()
	for _, n := range notes {
		if side != nil { // a later round may not want to hear
			side(n)
		}
	}
	if lost {
		return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "notes came faster than they were heard and some are lost: start again"}
	}
	return nil
}
