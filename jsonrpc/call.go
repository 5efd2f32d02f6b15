package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// A Pending is a request of ours that was sent and is not answered yet.
type Pending struct {
	conn     *Conn // nil if it was made by NewPending
	id       int64
	response chan Response
	drop     func() // instead of conn
}

// NewPending returns a Pending for a request that travels otherwise than on a
// Conn. Deliver is to be called at most once; drop is called when nobody waits
// any more.
func NewPending(drop func()) (p *Pending, deliver func(Response)) {
	p = &Pending{response: make(chan Response, 1), drop: drop}
	return p, func(a Response) { p.response <- a }
}

// A Response is the response to a request: a result or an error, or the
// reason why there is none.
type Response struct {
	Message
	Err error
}

// NextID returns an id that this Conn has not used.
func (c *Conn) NextID() int64 { return c.seq.Add(1) }

// Start sends a request under an id from [Conn.NextID]. The context bounds only
// how long Start waits while the far end is slow; one that has ended means that
// Start must not wait, and the request is sent in its turn. The caller takes the
// response or drops it.
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

// Response is where the answer arrives, once.
func (p *Pending) Response() <-chan Response { return p.response }

// Took says that the answer was taken; the Pending must not be used after it.
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

// maxSpare is how many Pendings a Conn keeps to use them again.
const maxSpare = 64

func (c *Conn) pendingLocked() *Pending {
	if n := len(c.state.spare); n > 0 {
		p := c.state.spare[n-1]
		c.state.spare = c.state.spare[:n-1]
		return p
	}
	return &Pending{conn: c, response: make(chan Response, 1)}
}

// maxDropped bounds how many dropped requests a Conn remembers, so that their
// late responses are not reported as unknown.
const maxDropped = 1024

// Drop gives the request up: a response that still arrives is reported as
// [ErrLateResponse]. Cancelling it at the far end is up to the caller.
func (p *Pending) Cancel() {
	if p.conn == nil {
		p.drop()
		return
	}
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	s := &p.conn.state
	if s.waiting[p.id] != p {
		return // it was answered
	}
	delete(s.waiting, p.id)
	if s.dropped == nil || len(s.dropped) >= maxDropped {
		s.dropped = map[int64]struct{}{}
	}
	s.dropped[p.id] = struct{}{}
}

// ErrLateResponse is reported for a response to a request that was given up. It
// is harmless: the far end may have sent it before it heard of that.
var ErrLateResponse = errors.New("late response to a request that was given up")

// unexpected returns the error for a response that no call waits for.
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
	return fmt.Errorf("response with the unknown id %.64s", id)
}

// Call sends a request and waits for its answer, which may be an error answer:
// that is in Message.Error. When ctx ends first the error is that of ctx.
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

// Notify sends a notification. The context bounds how long Notify waits while
// the far end is slow; one that has ended means that Notify must not wait, and
// the notification is sent in its turn.
func (c *Conn) Notify(ctx context.Context, method string, params []byte) error {
	return c.sendOrPush(ctx, func(dst []byte) []byte { return AppendNotification(dst, method, params) })
}

// pair hands an answer, or the error that stands for it, to the request that
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
