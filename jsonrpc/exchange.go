package jsonrpc

import (
	"context"
	"fmt"
	"sync"
)

// An Exchange is one request of the far end and the way back. After it was
// answered, cancelled or ignored nothing more is sent for it.
type Exchange struct {
	Message

	conn     *Conn
	ctx      requestContext
	key      string
	batch    *batch
	next     *Exchange // in a row
	finished bool      // guarded by conn.mu
}

// Conn is where the request came from.
func (x *Exchange) Conn() *Conn { return x.conn }

// Response sends the answer that build appends, a whole message. It does nothing
// when the exchange is over.
func (x *Exchange) Respond(build func(dst []byte) []byte) {
	if x.batch != nil {
		if x.end() {
			x.batch.add(x.conn, build(nil), false)
		}
		return
	}
	x.conn.send(context.Background(), &sending{x, true}, build)
}

// AnswerError answers with an error.
func (x *Exchange) RespondError(e *Error) {
	x.Respond(func(dst []byte) []byte { return AppendError(dst, x.ID, e) })
}

// Notify sends the notification that build appends. It does nothing when the
// exchange is over.
func (x *Exchange) Notify(ctx context.Context, build func(dst []byte) []byte) error {
	return x.conn.send(ctx, &sending{x, false}, build)
}

// Ignore ends the exchange without an answer.
func (x *Exchange) Ignore() {
	if x.end() && x.batch != nil {
		x.batch.add(x.conn, nil, true)
	}
}

// end marks the exchange as over and reports whether it was not.
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

// Cancel ends the exchange with this id: its context ends, and nothing more is
// sent for it. It reports whether there was one.
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

// accept starts serving one request, or refuses it. This is the goroutine that
// reads, so a refusal must not wait for a slow far end.
func (c *Conn) accept(ctx context.Context, m *Message) {
	x, refused := c.admit(ctx, m, nil)
	if refused != nil {
		c.Push("", func(dst []byte) []byte { return AppendError(dst, m.ID, refused) })
		return
	}
	c.start(x)
}

// admit takes a request in, or says why it is not served. The far end may
// cancel it from here on.
func (c *Conn) admit(ctx context.Context, m *Message, b *batch) (*Exchange, *Error) {
	x := &Exchange{Message: *m, conn: c, ctx: requestContext{parent: ctx}, key: m.ID.Key(), batch: b}
	refused := ""
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state.closing:
		refused = "the server is shutting down"
	case c.state.serving[x.key] != nil:
		refused = "a request with this id is still being served"
	case c.state.handled >= c.opts.MaxServing: // cancelled ones too, until they have ended
		refused = fmt.Sprintf("too many requests at once: the limit is %d", c.opts.MaxServing)
	default:
		c.state.serving[x.key] = x
		c.state.handled++
		c.startedLocked()
		return x, nil
	}
	return nil, &Error{Code: CodeInvalidRequest, Message: refused}
}

// start has a request served that was admitted: it is handed over with those
// that came together with it.
func (c *Conn) start(x *Exchange) {
	if c.arrived != nil {
		c.arrived.Arrived(&x.Message)
	}
	c.receivedAt.put(x)
}

// A batch gathers the answers to requests that came in one frame.
type batch struct {
	mu   sync.Mutex
	left int // answers that are still to come
	out  []byte
}

// add takes in an answer; nil means that there will be none. The last one
// sends them all, and waits where the far end is slow; if it must not wait,
// another goroutine does.
func (b *batch) add(c *Conn, answer []byte, mustNotWait bool) {
	b.mu.Lock()
	b.put(answer)
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

func (b *batch) put(answer []byte) {
	if len(answer) > 0 {
		if len(b.out) > 0 {
			b.out = append(b.out, ',')
		}
		b.out = append(b.out, answer...)
	}
}

func (b *batch) append(dst []byte) []byte {
	dst = append(append(dst, '['), b.out...)
	return append(dst, ']')
}

// receiveBatch serves the messages of a batch, if one is welcome.
func (c *Conn) receiveBatch(ctx context.Context, frame []byte) {
	if c.opts.Batch == nil {
		c.bad(frame, &DecodeError{Code: CodeInvalidRequest, Reason: "a batch is not allowed here: send one message a line"})
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

// serveBatch lets in the whole batch before it serves any of it: so what can
// be answered at once is gathered without waiting, and only a goroutine that
// serves, which may wait, sends the answers.
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
			x, refused := c.admit(ctx, &it.Message, b)
			if refused != nil {
				b.put(AppendError(nil, it.ID, refused))
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
