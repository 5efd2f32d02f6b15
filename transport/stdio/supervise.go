package stdio

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/restart"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// RestartOptions says how soon and how often a program that ended is started
// again.
type RestartOptions struct {
	// FirstDelay is the delay before the first restart, and MaxDelay the
	// longest; each delay is twice the one before. 0 means 1 s and 30 s.
	FirstDelay, MaxDelay time.Duration

	// Limit is how many starts within Window are allowed. 0 means 5 starts in
	// 60 s; a negative Limit means any number.
	Limit  int
	Window time.Duration

	// Stable is how long the program must run for earlier starts to be
	// forgotten. 0 means 60 s.
	Stable time.Duration

	// OnEnd is called when the program has ended or could not be started, with
	// the reason and the delay until it is started again; a negative delay
	// means that only [Supervised.Retry] starts it. It must not call Close.
	// Nil means no callback.
	OnEnd func(err error, delay time.Duration)
}

func (o *RestartOptions) changed(now restart.Status) {
	switch {
	case o.OnEnd == nil:
	case now.State == restart.Waiting:
		o.OnEnd(now.Err, now.Delay)
	case now.State == restart.GaveUp:
		o.OnEnd(now.Err, -1)
	}
}

// A Supervised is a connection to a server process that is restarted when it
// ends. It is an [mcp.Conn]. Calls in flight fail when the process ends; the
// next call waits for the next process. Subscriptions end, too, and have to be
// opened again, as package client does.
type Supervised struct {
	command    Command // its Era.Known is not used
	profile    *mcp.ClientProfile
	supervisor *restart.Supervisor[*Connection]

	mu    sync.Mutex
	known mcp.Revision // of the last connection
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
	o := &s.command.Restart
	s.supervisor = restart.New(s.connect, &restart.Options{
		Backoff: restart.Backoff{First: o.FirstDelay, Max: o.MaxDelay, Limit: o.Limit, Window: o.Window, Stable: o.Stable},
		Changed: o.changed,
	})
	if _, err := s.supervisor.Get(ctx); err != nil {
		if ctx.Err() != nil {
			go s.supervisor.Close() // waits for the process
		} else {
			s.supervisor.Close()
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

// Serve waits until the server runs and makes a call.
func (s *Supervised) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	conn, err := s.Connection(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	res, err := conn.Serve(ctx, c)
	if closed, ok := errors.AsType[*mcp.ClosedError](err); ok {
		err = closed.Cause // of one process: another follows
	}
	return res, err
}

// Connection returns the connection to the process that runs now, or waits for
// the next one. After Close it returns an [*mcp.ClosedError].
func (s *Supervised) Connection(ctx context.Context) (*Connection, error) {
	conn, err := s.supervisor.Get(ctx)
	if errors.Is(err, restart.ErrClosed) {
		err = &mcp.ClosedError{Cause: err}
	}
	return conn, err
}

// Retry starts the server now instead of after a delay, also after the limit of
// starts was reached.
func (s *Supervised) Retry() { s.supervisor.Retry() }

// Close ends the process and does not start another.
func (s *Supervised) Close() error { return s.supervisor.Close() }

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
		c.Era.Known = eraconn.LatestWithHandshake()
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
