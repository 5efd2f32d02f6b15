package config

import (
	"slices"
	"strconv"
	"time"
)

// A Connection says which callers of tenon gateway share a connection to a server.
// The zero value means that all do.
type Connection struct {
	// Scope is ConnectionShared, ConnectionUser, ConnectionSession, or empty for
	// ConnectionShared.
	Scope string
	// Max is the number of connections, and Idle how long an unused one is kept.
	// 0 means the defaults of the gateway.
	Max  int
	Idle time.Duration
}

// The scopes of a Connection.
const (
	ConnectionShared  = "shared"  // one connection for all callers
	ConnectionUser    = "user"    // one for each user
	ConnectionSession = "session" // one for each session of a client
)

// PerCaller reports whether callers have connections of their own.
func (c Connection) PerCaller() bool {
	return c.Scope == ConnectionUser || c.Scope == ConnectionSession
}

// readConnection reads a scope, or an object with scope, max and idle.
func readConnection(n node) (c Connection, err error) {
	if n.raw[0] == '"' {
		c.Scope, err = readScope(n)
		return c, err
	}
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "scope":
			c.Scope, err = readScope(m.value)
		case "max":
			if c.Max, err = strconv.Atoi(string(m.value.raw)); err != nil || c.Max <= 0 {
				err = m.value.errorf("must be a number of connections, at least 1")
			}
		case "idle":
			c.Idle, err = m.value.duration()
		default:
			err = m.unknown([]string{"scope", "max", "idle"})
		}
		return err
	})
	if err == nil && c.Scope == "" {
		err = n.errorf(`must have a "scope"`)
	}
	return c, err
}

func readScope(n node) (string, error) {
	s, err := n.text()
	if err == nil && !slices.Contains([]string{ConnectionShared, ConnectionUser, ConnectionSession}, s) {
		err = n.errorf(`must be "shared", "user" or "session", not %q`, s)
	}
	return s, err
}

// write writes the member of an entry.
func (c Connection) write(w *writer) {
	if c.Max == 0 && c.Idle == 0 {
		w.text("connection", c.Scope)
		return
	}
	w.name("connection")
	w.open()
	w.text("scope", c.Scope)
	if c.Max > 0 {
		w.name("max")
		w.b.WriteString(strconv.Itoa(c.Max))
	}
	if c.Idle > 0 {
		w.text("idle", c.Idle.String())
	}
	w.close()
}
