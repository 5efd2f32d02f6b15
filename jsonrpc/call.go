package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// A Pending is a request that was sent and has no response yet.
type Pending struct {
	conn     *Conn // nil if made by NewPending
	id       int64
	response chan Response
	drop     func() // used instead of conn
}

// NewPending returns a Pending for a request that is not sent on a Conn. Call
// deliver at most once, with the response; drop is called when the request is
// cancelled.
func NewPending(drop func()) (p *Pending, deliver func(Response)) {
	p = &Pending{response: make(chan Response, 1), drop: drop}
	return p, func(a Response) { p.response <- a }
}

// A Response is the response to a request: a message with a result or an error,
// or the reason why there is none in Err.
type Response struct {
	Message
	Err error
}

// NextID returns an unused id.
func (c *Conn) NextID() int64 { return c.seq.Add(1) }

// Start sends a request with an id from [Conn.NextID]. ctx limits how long
// Start waits for a slow peer; if ctx has ended, Start does not wait and the
// request is queued. The caller receives the response and calls
// [Pending.Release], or calls [Pending.Cancel].
func (c *Conn) Start(ctx context.Context, id int64, method string, params []byte) (*Pending, error) {
	c.mu.Lock()
	if err := c.state.err; err != nil {
		c.mu.Unlock()
		return nil, err
	}
	p := c.pendingLocked()
	p.id = id
	c.state.waiting[id] = p
	c.mu.Unlock()

	err := c.sendOrPush(ctx, func(dst []byte) []byte {
		var text [20]byte
		return AppendRequest(dst, strconv.AppendInt(text[:0], id, 10), method, params)
	})
	if err != nil {
		p.Cancel()
		return nil, err
	}
	return p, nil
}

// Response returns the channel that receives the response, once.
func (p *Pending) Response() <-chan Response { return p.response }

// Release returns the Pending for reuse after the response was received. The
// Pending must not be used afterwards.
func (p *Pending) Release() {
	if p.conn == nil {
		return
	}
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	if spare := &p.conn.state.spare; len(*spare) < maxSpare {
		*spare = append(*spare, p)
	}
}

// maxSpare is the maximum number of Pendings that a Conn keeps for reuse.
const maxSpare = 64

func (c *Conn) pendingLocked() *Pending {
	if n := len(c.state.spare); n > 0 {
		p := c.state.spare[n-1]
		c.state.spare = c.state.spare[:n-1]
		return p
	}
	return &Pending{conn: c, response: make(chan Response, 1)}
}

// maxDropped limits how many cancelled requests a Conn remembers, so that their
// late responses are not reported as unknown.
const maxDropped = 1024

// Cancel abandons the request. A response that arrives later is reported as
// [ErrLateResponse]. Cancel does not tell the peer.
func (p *Pending) Cancel() {
	if p.conn == nil {
		p.drop()
		return
	}
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	s := &p.conn.state
	if s.waiting[p.id] != p {
		return // the response has arrived
	}
	delete(s.waiting, p.id)
	if s.dropped == nil || len(s.dropped) >= maxDropped {
		s.dropped = map[int64]struct{}{}
	}
	s.dropped[p.id] = struct{}{}
}

// ErrLateResponse is reported for the response to a cancelled request. It is
// harmless: the peer may have sent it before it received the cancellation.
var ErrLateResponse = errors.New("late response to a cancelled request")

// unexpected returns the error for a response that no request waits for.
func (c *Conn) unexpected(id ID) error {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		c.mu.Lock()
		_, late := c.state.dropped[n]
		delete(c.state.dropped, n)
		c.mu.Unlock()
		if late {
			return ErrLateResponse
		}
	}
	if id == nil {
		return errors.New("response without an id")
	}
	return fmt.Errorf("response with unknown id %.64s", id)
}

// Call sends a request and waits for the response. An error response is in
// Message.Error. If ctx ends first, Call returns the error of ctx.
func (c *Conn) Call(ctx context.Context, method string, params []byte) (Message, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, err
	}
	p, err := c.Start(ctx, c.NextID(), method, params)
	if err != nil {
		return Message{}, err
	}
	select {
	case a := <-p.response:
		p.Release()
		return a.Message, a.Err
	case <-ctx.Done():
		p.Cancel()
		return Message{}, ctx.Err()
	}
}

// Notify sends a notification. ctx limits how long Notify waits for a slow
// peer; if ctx has ended, Notify does not wait and the notification is queued.
func (c *Conn) Notify(ctx context.Context, method string, params []byte) error {
	return c.sendOrPush(ctx, func(dst []byte) []byte { return AppendNotification(dst, method, params) })
}

// pair delivers a response, or the error in its place, to the request that
// waits for it, and reports whether there was one.
func (c *Conn) pair(m *Message, err error) bool {
	id, e := strconv.ParseInt(string(m.ID), 10, 64)
	if e != nil {
		return false
	}
	c.mu.Lock()
	p := c.state.waiting[id]
	delete(c.state.waiting, id)
	c.mu.Unlock()
	if p == nil {
		return false
	}
	p.response <- Response{*m, err}
	return true
}
