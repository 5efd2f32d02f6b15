package cluster

import "syscall"

const (
	tcpUserTimeout   = 0x12   // TCP_USER_TIMEOUT
	unacknowledgedMS = 10_000 // milliseconds
)

// limitUnacknowledged makes TCP break a connection on which sent data is not
// acknowledged for 10 seconds.
func limitUnacknowledged(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		// If it fails, the connection breaks later.
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, unacknowledgedMS)
	})
}
