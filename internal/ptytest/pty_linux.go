package ptytest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"golang.org/x/sys/unix"
)

// Open returns both ends of a pseudo-terminal: the user's end and the
// program's end. It skips the test if there are none.
func Open(t testing.TB, rows, columns int) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		needtest.Missing(t, "there are no terminals here: "+err.Error())
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		needtest.Missing(t, "there are no terminals here: "+err.Error())
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	return keys, tty
}

// A Screen is a terminal with the test as its user.
type Screen struct {
	TTY *os.File // the program's end

	t      *testing.T
	keys   *os.File
	mu     sync.Mutex
	text   string
	at     int // position after the last Sees
	closed chan struct{}
}

// New opens a Screen and closes it at the end of the test.
func New(t *testing.T) *Screen {
	t.Helper()
	keys, tty := Open(t, 40, 100)
	s := &Screen{t: t, keys: keys, TTY: tty, closed: make(chan struct{})}
	go func() { // ends when the program's end is closed
		defer close(s.closed)
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			s.mu.Lock()
			s.text += string(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() { // unblock pending reads
			for range 3 {
				keys.WriteString("\x03\x04")
				time.Sleep(100 * time.Millisecond)
				keys.WriteString("\x04")
			}
		}
		tty.Close()
		<-s.closed
		keys.Close()
	})
	return s
}

// Press types keys.
func (s *Screen) Press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// Sees waits for a text after the previous one.
func (s *Screen) Sees(want string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		i := strings.Index(s.text[s.at:], want)
		if i >= 0 {
			s.at += i + len(want)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	s.t.Fatalf("%q is not on the screen:\n%q", want, s.Text()[s.at:])
}

// Text returns everything written to the screen.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}
