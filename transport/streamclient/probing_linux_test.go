package streamclient

import (
	"net"
	"syscall"
	"testing"
)

// TCP gives a connection up that is gone within 90 s (L22).
func TestClientProbesConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := NewTransport().DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(fd uintptr, level, name int) int {
		n, err := syscall.GetsockoptInt(int(fd), level, name)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	raw.Control(func(fd uintptr) {
		on := option(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
		idle, every, count := option(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE), option(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), option(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
		if on == 0 || idle+every*count > 90 {
			t.Errorf("probes are on: %d; given up after %d s and %d probes, one every %d s", on, idle, count, every)
		}
	})
}
