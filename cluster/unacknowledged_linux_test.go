package cluster

import (
	"crypto/tls"
	"syscall"
	"testing"
)

// A connection between replicas breaks soon if what is sent is not acknowledged.
func TestUnacknowledgedDataIsLimited(t *testing.T) {
	store := NewMemory()
	a, err := Join(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Join(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	m, err := a.peer(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.dial(t.Context(), m, dialTimeout, "http/1.1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*tls.Conn).NetConn().(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const option = 18 // TCP_USER_TIMEOUT of linux/tcp.h
	var ms int
	raw.Control(func(fd uintptr) { ms, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option) })
	if err != nil || ms != 10_000 {
		t.Errorf("the limit is %d ms: %v", ms, err)
	}
}
