package httpguard

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A deadline is the read or write deadline of a connection. It is set on the
// connection only before a read or write that may block: net/http sets deadlines
// eight times per request, and each costs a contended lock and a timer.
//
// During a read or write, the actual deadline is never later than the wanted
// one, except for a last read. It may be earlier: a read or write that ends too
// soon is repeated.
type deadline struct {
	move func(net.Conn, time.Time) error // sets that of the connection

	mu      sync.Mutex
	wanted  time.Time
	actual  time.Time // what is set on the connection
	passed  bool      // actual has passed
	retried bool      // the last read found nothing
	exact   bool      // the write cannot be repeated
	waiting int       // reads or writes in progress
}

// set sets the wanted deadline; zero means none.
func (d *deadline) set(c net.Conn, t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted, d.retried = t, false
	if d.waiting == 0 {
		return nil
	}
	return d.applyLocked(c)
}

// begin is called before a read or write, and end after it.
func (d *deadline) begin(c net.Conn, exact bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	d.exact = d.exact || exact
	d.applyLocked(c) // an error shows in the read or write
}

// A waitEnd is why a read or write has ended.
type waitEnd uint8

const (
	inTime     waitEnd = iota // not because of a deadline
	tooSoon                   // at the actual deadline, before the wanted one
	atDeadline                // at the wanted one; bytes may have arrived before it
	expired                   // at the wanted one, for good
)

// end returns why a read or write with the error err has ended.
func (d *deadline) end(err error) waitEnd {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 {
		d.exact = false
	}
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		d.retried = false
		return inTime
	}
	d.passed = true
	switch {
	case d.wanted.IsZero() || time.Now().Before(d.wanted):
		return tooSoon
	case d.retried || d.wanted.Before(started):
		return expired
	}
	return atDeadline
}

// started is the start of the process. net/http sets an earlier deadline to
// interrupt a read.
var started = time.Now()

// lastRead bounds the read of bytes that arrived before the deadline.
const lastRead = 100 * time.Millisecond

// beginLastRead begins a read after the deadline has passed. After a pause of the
// process, as on a busy machine, bytes may have arrived in time, but package net
// reports only the deadline. A read that finds nothing has failed for good.
func (d *deadline) beginLastRead(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	d.retried = true
	d.actual, d.passed = time.Now().Add(lastRead), false
	d.move(c, d.actual)
}

// applyLocked sets the deadline of the connection if necessary.
func (d *deadline) applyLocked(c net.Conn) error {
	switch {
	case d.passed, d.exact:
	case d.wanted.IsZero(), !d.actual.IsZero() && !d.actual.After(d.wanted):
		return nil // early enough
	}
	d.actual, d.passed = d.wanted, false
	return d.move(c, d.wanted)
}
