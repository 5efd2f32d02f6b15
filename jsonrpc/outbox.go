package jsonrpc

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
)

// An outbox holds encoded messages until they are written. The first sender
// writes for all that send meanwhile. Responses of workers that have more
// requests to serve are deferred for a moment. So a busy stream gets few large
// writes, and a quiet one is written to at once.
//
// Senders that may wait do so while the outbox is full. Messages of other
// senders wait in later, by the rule of package notifyqueue.
type outbox struct {
	buf     []byte // messages to write
	spare   []byte // an empty buffer for reuse
	busy    bool   // a goroutine is writing
	room    chan struct{}
	stopped error // why nothing more can be written

	later      notifyqueue.Pending[[]byte] // empty unless buf is full
	laterBytes int
}

const (
	outboxRoom  = 1 << 20  // above this, senders wait
	outboxSpare = 1 << 18  // larger buffers are not reused
	deferRoom   = 1 << 15  // above this, responses are not deferred
	maxLater    = 16 << 20 // above this, the stream is closed
)

// A sending is the exchange that a message belongs to, and whether it is the
// last message of it.
type sending struct {
	x    *Exchange
	last bool
}

// send adds a message to the outbox and makes sure that it is written. Messages
// of a finished exchange are dropped without an error.
func (c *Conn) send(ctx context.Context, s *sending, build func(dst []byte) []byte) error {
	if err := c.awaitRoom(ctx); err != nil {
		return err
	}
	m := encodeLine(build)
	defer m.free()
	write, err := c.put(s, m)
	if write {
		c.flush(c.opts.WriteInline)
	}
	return err
}

// sendOrPush sends a message that belongs to no exchange. If ctx has ended, the
// caller must not wait, and the message is pushed.
func (c *Conn) sendOrPush(ctx context.Context, build func(dst []byte) []byte) error {
	if ctx.Err() == nil {
		return c.send(ctx, nil, build)
	}
	if !c.Push("", build) {
		return c.stopCause()
	}
	return nil
}

// stopCause returns why nothing more can be written.
func (c *Conn) stopCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writing.stopped
}

// awaitRoom waits until the outbox is not full.
func (c *Conn) awaitRoom(ctx context.Context) error {
	o := &c.writing
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(o.buf) > outboxRoom && o.stopped == nil {
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		c.mu.Unlock()
		select {
		case <-room:
			c.mu.Lock()
		case <-ctx.Done():
			c.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

// put adds a message. It reports whether the caller has to write.
func (c *Conn) put(s *sending, m *encoded) (write bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.writing
	switch {
	case o.stopped != nil:
		return false, o.stopped
	case s != nil && s.x.finished:
		return false, nil
	}
	o.add(m)
	if s != nil && s.last {
		s.x.endLocked()
		if c.mayDeferLocked() {
			return false, nil
		}
	}
	return c.claimLocked(), nil
}

// Push sends the message that build appends, from a goroutine that must not
// wait. The message is never dropped: if the peer is slow it is queued, and a
// queued message with the same key stands for both. An empty key differs from
// every other. If a peer leaves more than 16 MiB of such messages or more than
// 1,024 keys unread, the stream is closed. Push reports whether the Conn can
// still send.
func (c *Conn) Push(key string, build func(dst []byte) []byte) bool {
	m := encodeLine(build)
	defer m.free()
	write, ok := c.pushed(key, m)
	if write {
		c.flush(false)
	}
	if !ok {
		c.stream.Close()
	}
	return ok
}

// pushed adds or queues a message. It reports whether the caller has to write,
// and whether the Conn can still send.
func (c *Conn) pushed(key string, m *encoded) (write, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.writing
	switch {
	case o.stopped != nil:
		return false, false
	case len(o.buf) <= outboxRoom:
		o.add(m)
		return c.claimLocked(), true
	}
	it := notifyqueue.Item[[]byte]{Key: key, Size: len(m.bytes), Value: append([]byte(nil), m.bytes...)}
	if key != "" {
		it.Kind = notifyqueue.Change
	}
	before := o.later.Len()
	o.later.Add(it)
	if o.later.Len() > before {
		o.laterBytes += it.Size
	}
	if o.laterBytes > maxLater || o.later.Lost() {
		c.stopLocked(fmt.Errorf("the peer does not read: more than %d bytes or %d notifications are queued", maxLater, notifyqueue.MaxWaiting))
		return false, false
	}
	return false, true
}

// add appends a message. It does not copy a large one that is the first.
func (o *outbox) add(m *encoded) {
	if len(o.buf) == 0 && cap(m.bytes) > cap(o.buf) && len(m.bytes) > deferRoom {
		o.buf, m.bytes = m.bytes, nil
		return
	}
	o.buf = append(o.buf, m.bytes...)
}

// swap returns what is to be written. Queued messages are next.
func (o *outbox) swap() (buf []byte) {
	buf = o.buf
	o.buf, o.spare = o.spare[:0], nil
	if o.later.Len() > 0 {
		for _, it := range o.later.Take() {
			o.buf = append(o.buf, it.Value...)
		}
		o.laterBytes = 0
	}
	return buf
}

// stopLocked ends writing. The first cause counts.
func (c *Conn) stopLocked(cause error) {
	if c.writing.stopped == nil {
		c.writing.stopped = &ClosedError{Cause: cause}
	}
	c.makeRoomLocked()
}

// makeRoomLocked wakes senders that wait for room.
func (c *Conn) makeRoomLocked() {
	if o := &c.writing; o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// An encoded is a message with its final newline.
type encoded struct{ bytes []byte }

var encodings = sync.Pool{New: func() any { return new(encoded) }}

// encodeLine encodes a message before any lock is taken. If build panics,
// nothing was sent.
func encodeLine(build func(dst []byte) []byte) *encoded {
	m := encodings.Get().(*encoded)
	m.bytes = append(build(m.bytes[:0]), '\n')
	return m
}

func (m *encoded) free() {
	if cap(m.bytes) <= outboxSpare {
		encodings.Put(m)
	}
}

// mayDeferLocked reports whether a response may be written later, together with
// others: only if another worker is being woken, who writes it in any case.
func (c *Conn) mayDeferLocked() bool {
	return c.workers.starting && c.opts.WriteInline && len(c.writing.buf) <= deferRoom
}

// claimLocked makes the calling goroutine the writer, if one is needed.
func (c *Conn) claimLocked() bool {
	if !c.writing.left() {
		return false
	}
	c.writing.busy = true
	c.startedLocked()
	return true
}

// left reports whether there is something to write and no writer.
func (o *outbox) left() bool { return len(o.buf) > 0 && !o.busy && o.stopped == nil }

// flush writes until the outbox is empty. If mayWait is false and the stream
// would block, another goroutine finishes the write. If writing fails, flush
// closes the stream, which also ends reading.
func (c *Conn) flush(mayWait bool) {
	defer c.ended(false)
	if !c.write(mayWait) {
		c.stream.Close()
	}
}

func (c *Conn) write(mayWait bool) bool {
	o := &c.writing
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(o.buf) > 0 && o.stopped == nil {
		buf := o.swap()
		c.makeRoomLocked()
		c.mu.Unlock()
		wait := !mayWait && !hasRoom(c.stream, buf)
		var err error
		if !wait {
			err = c.stream.Write(buf)
		}
		c.mu.Lock()
		if wait {
			c.startedLocked()
			go c.finish(buf) // the outbox stays busy
			return true
		}
		c.wroteLocked(buf, err)
	}
	o.busy = false
	return o.stopped == nil
}

// finish writes buf and what is added meanwhile, for a goroutine that must not
// wait.
func (c *Conn) finish(buf []byte) {
	err := c.stream.Write(buf)
	c.mu.Lock()
	c.wroteLocked(buf, err)
	c.mu.Unlock()
	c.flush(true)
}

// wroteLocked reuses a buffer that was written.
func (c *Conn) wroteLocked(buf []byte, err error) {
	if cap(buf) <= outboxSpare {
		c.writing.spare = buf[:0]
	}
	if err != nil {
		c.stopLocked(err)
	}
}
