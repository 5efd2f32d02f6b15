package jsonrpc

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// An Exchange is one request of the far end and the way back. After it was
// answered, cancelled or ignored nothing more is sent for it.
type Exchange struct {
	Message

	conn   *Conn
	key    string
	cancel context.CancelFunc
	batch  *batch
	over   bool // guarded by conn.mu
}

// Conn is where the request came from.
func (x *Exchange) Conn() *Conn { return x.conn }

// Answer sends the answer that build appends, a whole message. It does nothing
// when the exchange is over.
func (x *Exchange) Answer(build func(dst []byte) []byte) {
	if x.batch != nil {
		if x.end() {
			x.batch.add(x.conn, build(nil))
		}
		return
	}
	x.conn.send(context.Background(), &sending{x, true}, build)
}

// AnswerError answers with an error.
func (x *Exchange) AnswerError(e *Error) {
	x.Answer(func(dst []byte) []byte { return AppendError(dst, x.ID, e) })
}

// Notify sends the notification that build appends. It does nothing when the
// exchange is over.
func (x *Exchange) Notify(ctx context.Context, build func(dst []byte) []byte) error {
	return x.conn.send(ctx, &sending{x, false}, build)
}

// Ignore ends the exchange without an answer.
func (x *Exchange) Ignore() {
	if x.end() && x.batch != nil {
		x.batch.add(x.conn, nil)
	}
}

// end marks the exchange as over and reports whether it was not.
func (x *Exchange) end() bool {
	x.conn.mu.Lock()
	defer x.conn.mu.Unlock()
	return x.endLocked()
}

func (x *Exchange) endLocked() bool {
	if x.over {
		return false
	}
	x.over = true
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
	x.cancel()
	return true
}

// serve starts serving one request.
func (c *Conn) serve(ctx context.Context, m Message, b *batch) {
	x := &Exchange{Message: m, conn: c, key: m.ID.Key(), batch: b}
	refused := ""
	c.mu.Lock()
	switch {
	case c.state.closing:
		refused = "the server is shutting down"
	case c.state.serving[x.key] != nil:
		refused = "a request with this id is still being served"
	case len(c.state.serving) >= c.opts.MaxServing:
		refused = fmt.Sprintf("too many requests at once: the limit is %d", c.opts.MaxServing)
	default:
		c.state.serving[x.key] = x
		ctx, x.cancel = context.WithCancel(ctx)
		c.startedLocked()
	}
	c.mu.Unlock()
	if refused != "" {
		c.refuse(m.ID, b, &Error{Code: CodeInvalidRequest, Message: refused})
		return
	}
	go func() {
		defer c.ended()
		defer x.cancel()
		defer x.unanswered()
		c.handle.Request(ctx, x)
	}()
}

// refuse answers a request that is not served. This is the goroutine that
// reads, so it must not wait for a slow far end.
func (c *Conn) refuse(id ID, b *batch, e *Error) {
	if b != nil {
		b.add(c, AppendError(nil, id, e))
		return
	}
	c.Push(func(dst []byte) []byte { return AppendError(dst, id, e) })
}

// unanswered sees to it that every request gets its answer.
func (x *Exchange) unanswered() {
	if p := recover(); p != nil {
		x.conn.noise(nil, fmt.Errorf("panic while serving %s: %v\n%s", x.Method, p, debug.Stack()))
	}
	x.conn.mu.Lock()
	over := x.over
	x.conn.mu.Unlock()
	if !over {
		x.AnswerError(&Error{Code: CodeInternal, Message: "the request was not served"})
	}
}

// A batch gathers the answers to requests that came in one frame.
type batch struct {
	mu   sync.Mutex
	left int // answers that are still to come
	out  []byte
}

func (b *batch) add(c *Conn, answer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(answer) > 0 {
		if len(b.out) > 0 {
			b.out = append(b.out, ',')
		}
		b.out = append(b.out, answer...)
	}
	if b.left--; b.left == 0 && len(b.out) > 0 {
		c.Push(func(dst []byte) []byte {
			dst = append(dst, '[')
			dst = append(dst, b.out...)
			return append(dst, ']')
		})
	}
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
	b := &batch{}
	for _, it := range items {
		if it.Err != nil || it.IsRequest() {
			b.left++
		}
	}
	for _, it := range items {
		e, _ := it.Err.(*DecodeError)
		switch {
		case e == nil:
			c.receive(ctx, frame, it.Message, b)
		case c.opts.AnswerBad && !e.Answer:
			b.add(c, AppendError(nil, e.ID, &Error{Code: e.Code, Message: e.Reason}))
		default:
			c.noise(frame, e)
			b.add(c, nil)
		}
	}
}
