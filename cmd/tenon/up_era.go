package main

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// eraWatch reports the frames of one connection, without secrets.
type eraWatch struct {
	*wirelog.Wire
	known *redact.Values
	see   func(sent bool, frame []byte)
}

func (e eraWatch) Frame(d jsonrpc.Direction, frame []byte) {
	e.see(d == jsonrpc.Out, e.known.JSON(frame))
	e.Wire.Frame(d, frame)
}

// inEra opens a second connection to a server with a chosen revision.
func (p *program) inEra(ctx context.Context, w *workspace.Workspace, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
	one := w.Fleet.Get(server)
	if one == nil {
		return nil, nil, fmt.Errorf("no server %q", server)
	}
	entry := one.Entry()
	s, err := connect.Open(ctx, entry, &connect.Options{
		Client: w.Host.ClientOptions(server), Builtin: openBuiltin, Known: r, Once: true, NoLogin: true, Secrets: &p.secrets,
		Watch: func(name string) connect.Watcher {
			return eraWatch{w.Log.Wire(fmt.Sprintf("%s (%s)", name, r)), &p.secrets, see}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}
