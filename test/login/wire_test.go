package login

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
)

// A wire has every byte that was sent to somebody.
type wire struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

// String returns what was sent so far.
func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// A wiredListener writes down what its connections receive.
type wiredListener struct {
	net.Listener
	to *wire
}

func (l wiredListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wiredConn{c, l.to}, nil
}

type wiredConn struct {
	net.Conn
	to *wire
}

func (c wiredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	_, _ = c.to.Write(b[:n])
	return n, err
}

// has reports whether a text has a JSON Web Token, or one of the parts that nobody
// else's token has: its claims or its signature.
func has(t *testing.T, text, token string) bool {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(parts[1]) < 40 || len(parts[2]) < 40 {
		t.Fatalf("%q is not a JSON Web Token", token)
	}
	return strings.Contains(text, parts[1]) || strings.Contains(text, parts[2])
}
