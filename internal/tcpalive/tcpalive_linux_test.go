package tcpalive

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// accept returns a connection of a listener. All is closed when the test ends.
func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return accepted
}

// Connections of a listener with Control have the limit, and so has one of Set.
func TestLimitIsSet(t *testing.T) {
	for name, listen := range map[string]func() (net.Listener, error){
		"listener":   func() (net.Listener, error) { return Listen(t.Context(), "127.0.0.1:0") },
		"connection": func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	} {
		l, err := listen()
		if err != nil {
			t.Fatal(err)
		}
		accepted := accept(t, l)
		if name == "connection" {
			Set(accepted)
		}
		raw, err := accepted.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: int(Limit.Milliseconds()), unix.TCP_KEEPIDLE: 30, unix.TCP_KEEPCNT: 4} {
			var got int
			if err := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option) }); err != nil || got != want {
				t.Errorf("%s: option %d is %d, not %d: %v", name, option, got, want, err)
			}
		}
	}
}

// With such a limit, here a short one, Linux ends a connection whose other end is
// there but reads nothing.
func TestLimitEndsConnectionThatIsNotRead(t *testing.T) {
	t.Parallel()
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := accept(t, l)
	raw, err := accepted.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 500)
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if err := accepted.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = accepted.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, unix.ETIMEDOUT) {
		t.Errorf("writing ended with %v", err)
	}
}
