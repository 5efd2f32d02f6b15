package mysql

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
)

// A meter counts the bytes that the server sends and closes the connection
// if one row is too large; the driver has no limit.
type meter struct {
	limit    int
	seen     atomic.Int64
	exceeded atomic.Bool
}

func (m *meter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &meteredConn{Conn: c, meter: m}, nil
}

// reset starts a new row.
func (m *meter) reset() { m.seen.Store(0) }

type meteredConn struct {
	net.Conn
	meter *meter
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.meter.seen.Add(int64(n)) > int64(c.meter.limit) {
		c.meter.exceeded.Store(true)
		return n, errors.New("row too large")
	}
	return n, err
}
