package httpguard

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A deadline is one side's deadline of a connection, moved only when somebody
// waits under it. net/http moves deadlines eight times in each request, for
// reads and writes that nearly always find what they want, and each move costs
// about as much as taking a lock that others want, and setting a timer.
//
// What the connection has is never later than what was wished while somebody
// waits, except for a last look. It may be sooner: a read or write that is woken
// too soon waits again.
type deadline struct {
	move func(net.Conn, time.Time) error // moves that of the connection

	mu     sync.Mutex
	wished time.Time
	has    time.Time // what the connection has
	passed bool      // and it has passed
	looked bool      // the last look after it found nothing
	exact  bool      // who waits cannot wait again
	wait   int       // how many wait
}

// wish says when waits are to end; zero means never.
func (d *deadline) wish(c net.Conn, t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wished, d.looked = t, false
	if d.wait == 0 {
		return nil
	}
	return d.keepLocked(c)
}

// begin is called before a wait, and end after it.
func (d *deadline) begin(c net.Conn, exact bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wait++
	d.exact = d.exact || exact
	d.keepLocked(c) // a connection that was closed says so to whoever uses it
}

// A wake says why a wait has ended.
type wake uint8

const (
	inTime     wake = iota // not by the deadline
	tooSoon                // by the deadline of the connection, before the one that was wished
	atDeadline             // by the one that was wished, and bytes may have arrived before it
	expired                // by the one that was wished, for good
)

// end returns why a wait that ended with err has ended.
func (d *deadline) end(err error) wake {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wait--; d.wait == 0 {
		d.exact = false
	}
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		d.looked = false
		return inTime
	}
	d.passed = true
	switch {
	case d.wished.IsZero() || time.Now().Before(d.wished):
		return tooSoon
	case d.looked || d.wished.Before(started):
		return expired
	}
	return atDeadline
}

// started is when the process did. A deadline before it interrupts, as net/http
// does to end a read.
var started = time.Now()

// lastLook is how long a read may take after its deadline has passed. It waits
// for nobody: it is there to fetch bytes that have arrived.
const lastLook = 100 * time.Millisecond

// beginLastLook begins a wait after the deadline has passed. A process that was
// not running for a while, on a busy machine or because it was stopped, finds
// both that the deadline has passed and that the bytes are there; the poller of
// package net then reports the deadline only, and the client, which was in time,
// would be refused. A read that found nothing has failed for good: net/http has
// cancelled the context of the connection then.
func (d *deadline) beginLastLook(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wait++
	d.looked = true
	d.has, d.passed = time.Now().Add(lastLook), false
	d.move(c, d.has)
}

// keepLocked moves the deadline of the connection if it has to be moved.
func (d *deadline) keepLocked(c net.Conn) error {
	switch {
	case d.passed, d.exact:
	case d.wished.IsZero(), !d.has.IsZero() && !d.has.After(d.wished):
		return nil // it is not too late
	}
	d.has, d.passed = d.wished, false
	return d.move(c, d.wished)
}
