package jsonrpc

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
)

// An outbox holds encoded messages until somebody writes them: the first
// sender, for all that come while it writes. Answers of a crew that has more to
// serve are left for a moment. So a busy stream gets few large writes and a
// quiet one is written to at once.
//
// Senders that may wait do so while the outbox is full. What is sent by those
// that may not waits in later, by the rule of package notifyqueue.
type outbox struct {
	buf     []byte // messages that wait
	spare   []byte // an empty buffer to use next
	busy    bool   // somebody writes
	room    chan struct{}
	stopped error // why nothing more can be written

	later      notifyqueue.Pending[[]byte] // empty unless buf is full
	laterBytes int
}

const (
	outboxRoom  = 1 << 20  // above this, senders wait
	outboxSpare = 1 << 18  // larger buffers are not kept
	leftRoom    = 1 << 15  // above this, answers are not left to be written later
	maxLater    = 16 << 20 // above this, a far end that does not read is given up
)

// A sending says for which exchange something is sent, and whether it is the
// last that is.
type sending struct {
	x    *Exchange
	last bool
}

// send appends a message to the outbox and sees to it that it is written. What
// belongs to an exchange that is over is dropped without an error: its caller
// has said that it does not want to hear of it.
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

// sendOrPush sends a message that belongs to no exchange. If ctx has ended the
// caller must not wait, and the message is pushed.
func (c *Conn) sendOrPush(ctx context.Context, build func(dst []byte) []byte) error {
	if ctx.Err() == nil {
		return c.send(ctx, nil, build)
	}
	if !c.Push("", build) {
		return c.whyStopped()
	}
	return nil
}

// whyStopped returns why nothing more can be written.
func (c *Conn) whyStopped() error {
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

// put appends a message. It reports whether the caller has to write.
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
		if c.mayLeaveLocked() {
			return false, nil
		}
	}
	return c.claimLocked(), nil
}

// Push sends the message that build appends from a goroutine that must not
// wait. It is never dropped: where the far end is slow it waits its turn, and a
// message with the same key that already waits stands for both. An empty key is
// like no other. A far end that leaves more than 16 MiB of such messages unread,
// or more than 1,024 keys, is given up and the stream closed. Push reports
// whether the Conn still sends.
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

// pushed appends a message, or has it wait. It reports whether the caller has to
// write, and whether the Conn still sends.
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
		c.stopLocked(fmt.Errorf("the far end does not read: more than %d bytes, or %d notifications, wait for it", maxLater, notifyqueue.MaxWaiting))
		return false, false
	}
	return false, true
}

// add appends a message. A large one that is the first is not copied.
func (o *outbox) add(m *encoded) {
	if len(o.buf) == 0 && cap(m.bytes) > cap(o.buf) && len(m.bytes) > leftRoom {
		o.buf, m.bytes = m.bytes, nil
		return
	}
	o.buf = append(o.buf, m.bytes...)
}

// swap takes what is to be written. What waited for room comes next.
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

// stopLocked has nothing more be written. The first cause counts.
func (c *Conn) stopLocked(cause error) {
	if c.writing.stopped == nil {
		c.writing.stopped = &ClosedError{Cause: cause}
	}
	c.makeRoomLocked()
}

// makeRoomLocked lets senders go on that wait.
func (c *Conn) makeRoomLocked() {
	if o := &c.writing; o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// An encoded is a message and the newline that ends it.
type encoded struct{ bytes []byte }

var encodings = sync.Pool{New: func() any { return new(encoded) }}

// encodeLine encodes a message before any lock is taken. If build panics nothing was
// sent.
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

// mayLeaveLocked reports whether an answer may be left to be written together
// with others: somebody must be coming, who writes it if the goroutine that
// leaves it does not get to.
func (c *Conn) mayLeaveLocked() bool {
	return c.workers.coming && c.opts.WriteInline && len(c.writing.buf) <= leftRoom
}

// claimLocked makes this goroutine the one who writes, if one is needed.
func (c *Conn) claimLocked() bool {
	if !c.writing.left() {
		return false
	}
	c.writing.busy = true
	c.startedLocked()
	return true
}

// left reports whether something waits to be written that nobody writes.
func (o *outbox) left() bool { return len(o.buf) > 0 && !o.busy && o.stopped == nil }

// flush writes until the outbox is empty. If mayWait is false and the stream
// would block, another goroutine finishes the write. When writing fails the
// stream is of no more use and is closed, which ends the reading too.
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
			go c.finish(buf) // and the outbox stays busy
			return true
		}
		c.wroteLocked(buf, err)
	}
	o.busy = false
	return o.stopped == nil
}

// finish writes what another goroutine could not wait with, and what comes
// meanwhile.
func (c *Conn) finish(buf []byte) {
	err := c.stream.Write(buf)
	c.mu.Lock()
	c.wroteLocked(buf, err)
	c.mu.Unlock()
	c.flush(true)
}

// wroteLocked takes back a buffer that was written.
func (c *Conn) wroteLocked(buf []byte, err error) {
	if cap(buf) <= outboxSpare {
		c.writing.spare = buf[:0]
	}
	if err != nil {
		c.stopLocked(err)
	}
}
