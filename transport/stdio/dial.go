package stdio

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Connection is a server process that was met, shaped as a Handler.
type Connection struct {
	*era.Peer
	child *Child
}

// Dial starts the program and meets the server in it. The process lives until
// Close, or until it ends by itself; ctx counts for the meeting only.
func Dial(ctx context.Context, c *Command, p *mcp.Persona, o *era.DialOptions) (*Connection, error) {
	child, err := c.Start()
	if err != nil {
		return nil, err
	}
	peer, err := era.Dial(ctx, child.Stream(), p, o)
	if err != nil {
		var told *ExitError
		if exit := child.Close(); exit != nil && !errors.As(err, &told) {
			err = fmt.Errorf("%w; %w", err, exit)
		}
		return nil, err
	}
	return &Connection{Peer: peer, child: child}, nil
}

// Child is the server's process.
func (c *Connection) Child() *Child { return c.child }

// Close ends the connection and the process; see [Child.Close].
func (c *Connection) Close() error {
	return errors.Join(c.Peer.Close(), c.child.Close())
}
