//go:build unix

package cluster

import (
	"crypto/tls"
	"net"
	"syscall"
)

// isOpen reports whether an idle connection is open: its other end has neither
// closed it nor sent anything.
func isOpen(c net.Conn) bool {
	raw, ok := c.(*tls.Conn).NetConn().(syscall.Conn)
	if !ok {
		return true
	}
	conn, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	var b [1]byte
	err = conn.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && open
}
