package jsonrpc

import (
	"context"
	"fmt"
	"sync"
)

// An Exchange is a request received from the peer, and the way to respond to
// it. After a response, Cancel or Ignore, nothing more is sent for it.
type Exchange struct {
	Message

	conn     *Conn
	ctx      requestContext
	key      string
	batch    *batch
	next     *Exchange // in a requestQueue
	finished bool      // guarded by conn.mu
}

// Conn returns the Conn that received the request.
func (x *Exchange) Conn() *Conn { return x.conn }

// Respond sends the response that build appends, a whole message. It does
// nothing if the exchange has finished.
func (x *Exchange) Respond(build func(dst []byte) []byte) {
	if x.batch != nil {
		if x.end() {
			x.batch.add(x.conn, build(nil), false)
		}
		return
	}
	x.conn.send(context.Background(), &sending{x, true}, build)
}

// RespondError sends an error response.
func (x *Exchange) RespondError(e *Error) {
	x.Respond(func(dst []byte) []byte { return AppendError(dst, x.ID, e) })
}

// Notify sends the notification that build appends. It does nothing if the
// exchange has finished.
func (x *Exchange) Notify(ctx context.Context, build func(dst []byte) []byte) error {
	return x.conn.send(ctx, &sending{x, false}, build)
}

// Ignore finishes the exchange without a response.
func (x *Exchange) Ignore() {
	if x.end() && x.batch != nil {
		x.batch.add(x.conn, nil, true)
	}
}

// end marks the exchange as finished and reports whether it was not.
func (x *Exchange) end() bool {
	x.conn.mu.Lock()
	defer x.conn.mu.Unlock()
	return x.endLocked()
}

func (x *Exchange) endLocked() bool {
	if x.finished {
		return false
	}
	x.finished = true
	delete(x.conn.state.serving, x.key)
	return true
}

// Cancel finishes the exchange with this id: its context ends, and nothing more
// is sent for it. It reports whether there was one.
func (c *Conn) Cancel(id ID) bool {
	c.mu.Lock()
	x := c.state.serving[id.Key()]
	c.mu.Unlock()
	if x == nil {
		return false
	}
	x.Ignore()
	x.ctx.end()
	return true
}

// accept starts serving a request, or rejects it. The reading goroutine calls
// it, so rejecting must not wait for a slow peer.
func (c *Conn) accept(ctx context.Context, m *Message) {
	x, rejected := c.admit(ctx, m, nil)
	if rejected != nil {
		c.Push("", func(dst []byte) []byte { return AppendError(dst, m.ID, rejected) })
		return
	}
	c.start(x)
}

// admit registers a request, or returns why it is not served. The peer may
// cancel it from here on.
func (c *Conn) admit(ctx context.Context, m *Message, b *batch) (*Exchange, *Error) {
	x := &Exchange{Message: *m, conn: c, ctx: requestContext{parent: ctx}, key: m.ID.Key(), batch: b}
	rejected := ""
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state.closing:
		rejected = "the server is shutting down"
	case c.state.serving[x.key] != nil:
		rejected = "a request with this id is in progress"
	case c.state.handled >= c.opts.MaxServing: // including cancelled ones that are still running
		rejected = fmt.Sprintf("too many requests at once: the limit is %d", c.opts.MaxServing)
	default:
		c.state.serving[x.key] = x
		c.state.handled++
		c.startedLocked()
		return x, nil
	}
	return nil, &Error{Code: CodeInvalidRequest, Message: rejected}
}

// start queues an admitted request, to be dispatched with those that arrive
// together with it.
func (c *Conn) start(x *Exchange) {
	if c.opts.Arrived != nil {
		c.opts.Arrived(&x.Message)
	}
	c.received.put(x)
}

// A batch collects the responses to the requests of one frame.
type batch struct {
	mu   sync.Mutex
	left int // responses that are still missing
	out  []byte
}

// add adds a response; nil means none. The last one sends them all, and waits
// for a slow peer; if mustNotWait is set, another goroutine does.
func (b *batch) add(c *Conn, response []byte, mustNotWait bool) {
	b.mu.Lock()
	b.put(response)
	b.left--
	send := b.left == 0 && len(b.out) > 0
	b.mu.Unlock()
	switch {
	case send && mustNotWait:
		c.mu.Lock()
		c.startedLocked()
		c.mu.Unlock()
		go func() {
			defer c.ended(false)
			c.send(context.Background(), nil, b.append)
		}()
	case send:
		c.send(context.Background(), nil, b.append)
	}
}

func (b *batch) put(response []byte) {
	if len(response) > 0 {
		if len(b.out) > 0 {
			b.out = append(b.out, ',')
		}
		b.out = append(b.out, response...)
	}
}

func (b *batch) append(dst []byte) []byte {
	dst = append(append(dst, '['), b.out...)
	return append(dst, ']')
}

// receiveBatch serves the messages of a batch, if batches are allowed.
func (c *Conn) receiveBatch(ctx context.Context, frame []byte) {
	if c.opts.Batch == nil {
		c.bad(frame, &DecodeError{Code: CodeInvalidRequest, Reason: "batches are not accepted: send one message per line"})
		return
	}
	if err := c.opts.Batch(); err != nil {
		c.bad(frame, &DecodeError{Code: CodeInvalidRequest, Reason: err.Error()})
		return
	}
	items, err := DecodeBatch(frame, maxBatch)
	if err != nil {
		c.bad(frame, err)
		return
	}
	c.serveBatch(ctx, frame, items)
}

// serveBatch admits the whole batch before it serves any of it: immediate
// responses are collected without waiting, and only a worker, which may wait,
// sends them.
func (c *Conn) serveBatch(ctx context.Context, frame []byte, items []BatchItem) {
	b := &batch{}
	admitted := make([]*Exchange, len(items))
	for i, it := range items {
		switch e, _ := it.Err.(*DecodeError); {
		case e != nil:
			if e.Response && c.pair(&Message{ID: e.ID}, e) {
				continue
			}
			c.invalidFrame(frame, e)
			if c.opts.RespondToInvalid && !e.NeedsNoResponse() {
				b.put(AppendError(nil, e.ID, &Error{Code: e.Code, Message: e.Reason}))
			}
		case it.IsRequest():
			x, rejected := c.admit(ctx, &it.Message, b)
			if rejected != nil {
				b.put(AppendError(nil, it.ID, rejected))
				continue
			}
			b.left++
			admitted[i] = x
		}
	}
	if b.left == 0 && len(b.out) > 0 {
		c.Push("", b.append)
	}
	for i, it := range items {
		switch {
		case admitted[i] != nil:
			c.start(admitted[i])
		case it.Err == nil && !it.IsRequest():
			c.receive(ctx, frame, &it.Message)
		}
	}
}
