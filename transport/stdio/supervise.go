package stdio

import (
	"context"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// SuperviseOptions say how a server is kept alive; nil means the defaults.
type SuperviseOptions struct {
	// Dial says how the server is met each time. Its Known is used for the
	// first meeting; later ones know from the first.
	Dial era.DialOptions

	// Restart says how often and how soon the server is started again.
	Restart RestartOptions
}

// A Supervised is a server process that is started again when it ends, shaped
// as a Handler. Calls in flight are lost with the process and fail; the next
// call waits for the next process. Subscriptions are calls too: whoever listens
// has to listen again, as package client does.
type Supervised struct {
	command *Command
	persona *mcp.Persona
	opts    SuperviseOptions
	keeper  *Restarter[*Connection]

	mu    sync.Mutex
	known mcp.Revision // what the server spoke last
}

// Supervise starts the program, meets the server in it, and keeps it alive
// until Close. The error is that of the first meeting.
func Supervise(ctx context.Context, c *Command, p *mcp.Persona, o *SuperviseOptions) (*Supervised, error) {
	s := &Supervised{command: c, persona: p}
	if o != nil {
		s.opts = *o
	}
	s.known = s.opts.Dial.Known
	s.keeper = NewRestarter(s.meet, &s.opts.Restart)
	if _, err := s.keeper.Get(ctx); err != nil {
		s.keeper.Close()
		return nil, err
	}
	return s, nil
}

// Dial makes a Command an [mcp.Dialer]. The server is met at once, and started
// again when it ends; see [Supervise].
func (c *Command) Dial(ctx context.Context, p *mcp.Persona) (mcp.Conn, error) {
	s, err := Supervise(ctx, c, p, nil)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve makes a call, once the server runs.
func (s *Supervised) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	conn, err := s.keeper.Get(ctx)
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
func (s *Supervised) Connection(ctx context.Context) (*Connection, error) { return s.keeper.Get(ctx) }

// Retry starts the server again after it was given up.
func (s *Supervised) Retry() { s.keeper.Retry() }

// Close ends the process and keeps it ended.
func (s *Supervised) Close() error { return s.keeper.Close() }

// meet starts the program and meets the server. What it speaks is remembered,
// and forgotten when that turns out wrong. A program that ends when it is
// probed is an older one that takes an unknown method badly: it is started
// again and not probed.
func (s *Supervised) meet(ctx context.Context) (*Connection, error) {
	o := s.opts.Dial
	s.mu.Lock()
	o.Known = s.known
	s.mu.Unlock()
	conn, err := Dial(ctx, s.command, s.persona, &o)
	if err != nil && o.Known == "" && endedByItself(err) && ctx.Err() == nil {
		o.Known = era.LatestWithHandshake()
		conn, err = Dial(ctx, s.command, s.persona, &o)
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
