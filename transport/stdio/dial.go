package stdio

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Connection is a connection to a server in a child process. It is an
// [mcp.Conn].
type Connection struct {
	*era.Conn
	child *Child
}

// Dial starts the program and connects to the server in it. The process runs
// until Close, or until it ends by itself; ctx applies only while connecting.
//
// When ctx ends, Dial returns at once, and the process is ended in the
// background, as by [Child.Close].
func Dial(ctx context.Context, c *Command, p *mcp.ClientProfile) (*Connection, error) {
	child, err := c.Start()
	if err != nil {
		return nil, err
	}
	peer, err := era.Dial(ctx, child.Stream(), p, &c.Era)
	switch {
	case err == nil:
		return &Connection{Conn: peer, child: child}, nil
	case ctx.Err() != nil:
		// era.Dial closes the stream in the background, which ends the child.
		return nil, &endingError{err, child}
	}
	var told *ExitError
	if exit := child.Close(); exit != nil && !errors.As(err, &told) {
		err = fmt.Errorf("%w; %w", err, exit)
	}
	return nil, err
}

// An endingError is the error of a Dial whose context ended. The process is still
// ending.
type endingError struct {
	error
	child *Child
}

func (e *endingError) Error() string {
	if last := lastLines(e.child.Stderr()); last != "" {
		return e.error.Error() + "; last lines of its stderr:\n" + last
	}
	return e.error.Error()
}

func (e *endingError) Unwrap() error { return e.error }

// Done is closed when the process has ended.
func (e *endingError) Done() <-chan struct{} { return e.child.Done() }

// Child returns the process of the server.
func (c *Connection) Child() *Child { return c.child }

// Close ends the connection and the process; see [Child.Close].
func (c *Connection) Close() error {
	return errors.Join(c.Conn.Close(), c.child.Close())
}
