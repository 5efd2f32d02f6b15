package tcpalive

import "syscall"

// userTimeout is TCP_USER_TIMEOUT, which package syscall does not name.
const userTimeout = 18

// Control sets the limit for what is sent, for a [net.Dialer].
func Control(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(Limit.Milliseconds())) // sockets that are not TCP have none
	})
}
