package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// parameter converts a parameter for the driver.
func parameter(p any) driver.Value {
	switch p := p.(type) {
	case engine.Decimal:
		return string(p)
	case engine.JSON:
		return string(p)
	case engine.Bytes:
		return p.Head
	}
	return p
}

// value converts a value of a row by the name of its type.
func value(kind string, v driver.Value) any {
	switch v := v.(type) {
	case float32: // the shortest text of a float32
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		if err != nil {
			return float64(v)
		}
		return f
	case []byte:
		return fromBytes(kind, v)
	}
	return v
}

func fromBytes(kind string, b []byte) any {
	switch strings.TrimPrefix(kind, "unsigned ") {
	case "decimal":
		return engine.Decimal(b)
	case "json":
		return engine.JSON(b)
	case "datetime":
		return iso(string(b), "")
	case "timestamp":
		return iso(string(b), "Z") // the session is in UTC
	case "blob", "tinyblob", "mediumblob", "longblob", "binary", "varbinary", "bit", "geometry", "vector":
		return binary(b)
	}
	if !utf8.Valid(b) {
		return binary(b)
	}
	return string(b)
}

func binary(b []byte) engine.Bytes {
	return engine.Bytes{Head: append([]byte(nil), b...), Size: int64(len(b))}
}

// iso converts "2024-05-01 10:00:00" to an ISO 8601 time.
func iso(s, zone string) string {
	if len(s) < 19 || s[10] != ' ' || strings.HasPrefix(s, "0000-00-00") {
		return s
	}
	return s[:10] + "T" + s[11:] + zone
}

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
