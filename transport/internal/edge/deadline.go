package edge

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
// waits. It may be sooner: who is woken too soon waits again.
type deadline struct {
	move func(net.Conn, time.Time) error // moves that of the connection

	mu     sync.Mutex
	wished time.Time
	has    time.Time // what the connection has
	passed bool      // and it has passed
	exact  bool      // who waits cannot wait again
	wait   int       // how many wait
}

// wish says when waits are to end; zero means never.
func (d *deadline) wish(c net.Conn, t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wished = t
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

// end reports whether a wait that ended with an error was woken too soon.
func (d *deadline) end(err error) (tooSoon bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wait--; d.wait == 0 {
		d.exact = false
	}
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.passed = true
	return d.wished.IsZero() || time.Now().Before(d.wished)
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
