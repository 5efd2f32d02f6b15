package stdio

import (
	"context"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Supervised is a connection to a server process that is started again when
// it ends. It is a Handler. Calls in flight are lost with the process and fail;
// the next call waits for the next process. Subscriptions are calls too: they
// have to be opened again, as package client does.
type Supervised struct {
	command   Command // its Era.Known is not used
	profile   *mcp.ClientProfile
	restarter *Restarter[*Connection]

	mu    sync.Mutex
	known mcp.Revision // what the server spoke last
}

// Supervise starts the program, connects to the server in it, and keeps it
// running until Close, as c.Restart says. The error is that of the first
// connection. When ctx ends before that, Supervise returns at once and the
// process is ended in the background, as with [Dial].
//
// The Known revision in c.Era applies to the first connection; later ones
// assume the revision of the one before.
func Supervise(ctx context.Context, c *Command, p *mcp.ClientProfile) (*Supervised, error) {
	s := &Supervised{command: *c, profile: p, known: c.Era.Known}
	restart := c.Restart
	if restart.Backoff != nil {
		own := *restart.Backoff // c may be used again
		own.Reset()
		restart.Backoff = &own
	}
	s.restarter = NewRestarter(s.connect, &restart)
	if _, err := s.restarter.Get(ctx); err != nil {
		if ctx.Err() != nil {
			go s.restarter.Close() // it waits for the process
		} else {
			s.restarter.Close()
		}
		return nil, err
	}
	return s, nil
}

// Dial makes a Command an [mcp.Dialer]: it is [Supervise].
func (c *Command) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	s, err := Supervise(ctx, c, p)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve makes a call, once the server runs.
func (s *Supervised) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	conn, err := s.restarter.Get(ctx)
	if err != nil {
		if errors.Is(err, ErrClosed) {
			err = &mcp.ClosedError{Cause: err}
		}
		return mcp.Result{}, err
	}
	res, err := conn.Serve(ctx, c)
	if closed, ok := errors.AsType[*mcp.ClosedError](err); ok {
		err = closed.Cause // of one process: another follows
	}
	return res, err
}

// Connection returns the connection to the process that runs now, or waits for
// the next one.
func (s *Supervised) Connection(ctx context.Context) (*Connection, error) {
	return s.restarter.Get(ctx)
}

// Retry starts the server again after it was given up.
func (s *Supervised) Retry() { s.restarter.Retry() }

// Close ends the process and keeps it ended.
func (s *Supervised) Close() error { return s.restarter.Close() }

// connect starts the program and connects to the server. It remembers the
// server's revision, and forgets it when that turns out wrong. A program that
// ends when it is probed is an older one that cannot bear an unknown method: it
// is started again and not probed.
func (s *Supervised) connect(ctx context.Context) (*Connection, error) {
	c := s.command
	s.mu.Lock()
	c.Era.Known = s.known
	s.mu.Unlock()
	conn, err := Dial(ctx, &c, s.profile)
	if err != nil && c.Era.Known == "" && endedByItself(err) && ctx.Err() == nil {
		c.Era.Known = era.LatestWithHandshake()
		conn, err = Dial(ctx, &c, s.profile)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.known = ""
		return nil, err
	}
	s.known = conn.Revision()
	return conn, nil
}

func endedByItself(err error) bool {
	_, closed := errors.AsType[*jsonrpc.ClosedError](err)
	return closed
}
