// Package tcpalive finds TCP connections whose other end has gone without a
// packet: a machine that was switched off, a network that drops everything.
//
// Keep-alive probes find them where nothing is to be sent. Where something is, such
// as the comments that keep a stream of events open, TCP sends no probes but that
// again, and by default for a quarter of an hour, so there is a limit for it too.
package tcpalive

import (
	"context"
	"net"
	"time"
)

// Limit is how long a connection may be without a sign of the other end.
const Limit = 70 * time.Second

// Probes are sent from 30 s of silence on, every 10 s; the fourth without a
// response ends the connection.
var Probes = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 4}

// Listen listens at a TCP address; the connections of the listener have both.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	c := net.ListenConfig{KeepAliveConfig: Probes, Control: Control}
	c.SetMultipathTCP(false) // connections of such sockets have no limit
	return c.Listen(ctx, "tcp", addr)
}

// Set sets both for a connection. What is not a TCP connection is left as it is.
func Set(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(Probes) // without it the defaults of the system hold
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = Control("", "", raw)
	}
}
