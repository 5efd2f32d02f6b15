package jsonrpc

import "context"

// An outbox holds encoded messages until somebody writes them: the first
// sender, for all that come while it writes. Answers of a crew that has more to
// serve are left for a moment. So a busy stream gets few large writes and a
// quiet one is written to at once.
type outbox struct {
	buf     []byte // messages that wait
	spare   []byte // an empty buffer to use next
	busy    bool   // somebody writes
	room    chan struct{}
	stopped error // why nothing more can be written
}

const (
	outboxRoom  = 1 << 20 // above this, senders wait
	outboxSpare = 1 << 18 // larger buffers are not kept
	leftRoom    = 1 << 15 // above this, answers are not left to be written later
)

// A sending says for which exchange something is sent, and whether it is the
// last that is.
type sending struct {
	x    *Exchange
	last bool
}

// send appends a message to the outbox and sees to it that it is written.
// What belongs to an exchange that is over is dropped without an error: its
// caller has said that it does not want to hear of it.
func (c *Conn) send(ctx context.Context, s *sending, build func(dst []byte) []byte) error {
	o := &c.writing
	c.mu.Lock()
	for len(o.buf) > outboxRoom && o.stopped == nil {
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
		c.mu.Lock()
	}
	switch {
	case o.stopped != nil:
		defer c.mu.Unlock()
		return o.stopped
	case s != nil && s.x.over:
		c.mu.Unlock()
		return nil
	}
	c.append(s, build, c.opts.WriteInline)
	return nil
}

// Push sends the message that build appends, from a goroutine that must not
// wait: when the far end is so slow that the outbox is full, the message is
// dropped. Push reports whether it was taken.
func (c *Conn) Push(build func(dst []byte) []byte) bool {
	o := &c.writing
	c.mu.Lock()
	if len(o.buf) > outboxRoom || o.stopped != nil {
		c.mu.Unlock()
		return false
	}
	c.append(nil, build, false)
	return true
}

// append puts a message into the outbox, unlocks c.mu, and has it written: by
// this goroutine or by another.
func (c *Conn) append(s *sending, build func(dst []byte) []byte, inline bool) {
	if c.putLocked(s, build) {
		c.flush(inline)
	}
}

// putLocked is the part of append that needs c.mu, which it unlocks, also when
// build panics: then nothing was sent. It reports whether somebody has to write.
func (c *Conn) putLocked(s *sending, build func(dst []byte) []byte) (write bool) {
	defer c.mu.Unlock()
	o := &c.writing
	o.buf = append(build(o.buf), '\n')
	if s != nil && s.last {
		s.x.endLocked()
		if c.mayLeaveLocked() {
			return false
		}
	}
	return c.claimLocked()
}

// mayLeaveLocked reports whether an answer may be left to be written together
// with others: somebody must be coming, who writes it if the goroutine that
// leaves it does not get to.
func (c *Conn) mayLeaveLocked() bool {
	return c.crew.coming && c.opts.WriteInline && len(c.writing.buf) <= leftRoom
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

// flush writes until the outbox is empty; what it would have to wait with, if it
// may not, it leaves to another goroutine. When writing fails the stream is of
// no more use and is closed, which ends the reading too.
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
		if !mayWait && !hasRoom(c.stream, o.buf) {
			c.startedLocked()
			go c.flush(true) // and the outbox stays busy
			return true
		}
		buf := o.buf
		o.buf, o.spare = o.spare[:0], nil
		if o.room != nil {
			close(o.room)
			o.room = nil
		}
		c.mu.Unlock()
		err := c.stream.Write(buf)
		c.mu.Lock()
		if cap(buf) <= outboxSpare {
			o.spare = buf[:0]
		}
		if err != nil {
			o.stopped = &ClosedError{Cause: err}
			if o.room != nil {
				close(o.room)
				o.room = nil
			}
		}
	}
	o.busy = false
	return o.stopped == nil
}
