// Package linktest puts a faulty network between two peers of a test. It is
// imported by tests only.
package linktest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A Link passes connections on to an address.
type Link struct {
	// Addr is where the Link listens.
	Addr string

	to       string
	listener net.Listener
	all      sync.WaitGroup
	garbage  atomic.Pointer[[]byte]

	mu     sync.Mutex
	open   chan struct{} // closed while bytes pass
	conns  map[*net.TCPConn]bool
	closed bool
}

// New returns a Link to an address. It ends with the test.
func New(t testing.TB, to string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{Addr: listener.Addr().String(), to: to, listener: listener, open: make(chan struct{}), conns: map[*net.TCPConn]bool{}}
	close(l.open)
	l.all.Go(l.accept)
	t.Cleanup(func() {
		listener.Close()
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		l.Mend()
		l.Reset()
		l.all.Wait()
	})
	return l
}

func (l *Link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.all.Go(func() { l.pass(from.(*net.TCPConn)) })
	}
}

// pass copies the bytes of one connection in both directions.
func (l *Link) pass(from *net.TCPConn) {
	defer l.drop(from)
	if !l.keep(from) {
		return
	}
	<-l.passes()
	c, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	there := c.(*net.TCPConn)
	defer l.drop(there)
	if !l.keep(there) {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		defer from.Close()
		l.copy(from, there, true)
	}()
	l.copy(there, from, false)
	there.Close()
	<-back
}

// keep reports whether c is a connection of a Link that goes on.
func (l *Link) keep(c *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = true
	return !l.closed
}

func (l *Link) drop(c *net.TCPConn) {
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
	c.Close()
}

// passes returns a channel that is closed when bytes pass.
func (l *Link) passes() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *Link) copy(to io.Writer, from io.Reader, answers bool) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		<-l.passes()
		if answers && n > 0 {
			if garbage := l.garbage.Swap(nil); garbage != nil {
				to.Write(*garbage)
			}
		}
		if _, broken := to.Write(buf[:n]); err != nil || broken != nil {
			return
		}
	}
}

// Cut keeps connections open and passes nothing, as a network that drops packets,
// until Mend.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default:
	}
}

// Mend ends Cut.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// Reset resets all connections. New ones can be made.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.SetLinger(0)
		c.Close()
	}
}

// Garbage puts bytes before the next ones that come back from the address.
func (l *Link) Garbage(text string) {
	b := []byte(text)
	l.garbage.Store(&b)
}
