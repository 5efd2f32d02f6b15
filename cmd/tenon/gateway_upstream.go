package main

import (
	"cmp"
	"context"
	"maps"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
)

// openServer makes the server of an entry ready for the gateway. A connection that
// all callers share starts now; one of a caller starts with its first call, and
// the router closes it. The lock is held.
func (g *gatewayRun) openServer(ctx context.Context, s *gatewayServer, guard *gatewayGuard) error {
	ctx = context.WithoutCancel(ctx) // connections outlive a reload
	entry := s.entry
	entry.Env = g.deeper(entry.Env)
	s.up = gateway.Upstream{Name: entry.Name, IdleTimeout: cmp.Or(entry.Timeout, g.p.timeout)}
	if scope := callerScope(entry); scope != "" && !entry.Disabled {
		s.up.Connections = &gateway.Connections{
			Scope: scope, Max: entry.Connection.Max, Idle: entry.Connection.Idle,
			Dial: func(_ context.Context, caller mcp.Caller) (mcp.Conn, error) { return g.dial(ctx, entry, guard, caller) },
		}
		return nil
	}
	o, err := g.p.gatewayOptions(ctx, entry)
	if err != nil {
		return err
	}
	o.Changed = g.stateChanged
	s.conn = connect.New(entry, o)
	g.open[s.conn] = struct{}{}
	s.Handler = guard.server(entry.Name, s.conn, false)
	s.up.Handler = s
	s.up.Restart = func() { _ = s.conn.Restart() } // fails only if it is closed
	return nil
}

// dial opens the connection of one caller to a server. What depends on the caller,
// such as the store of its tokens, is set here.
func (g *gatewayRun) dial(ctx context.Context, entry config.Server, guard *gatewayGuard, caller mcp.Caller) (mcp.Conn, error) {
	o, err := g.p.gatewayOptions(ctx, entry)
	if err != nil {
		return nil, err
	}
	return g.p.onBehalf.dial(entry, o, caller.Principal, func(h mcp.Handler) mcp.Handler { return guard.server(entry.Name, h, true) })
}

// deeper returns the environment of a program behind this gateway.
func (g *gatewayRun) deeper(env map[string]string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env[pathVariable] = g.p.onBehalf.loop.variable()
	return env
}

// released closes the connection of a server that the router does not use any
// more, unless callers had their own.
func (g *gatewayRun) released(u gateway.Upstream) {
	if s, ok := u.Handler.(*gatewayServer); ok {
		g.release(s.conn)
	}
}
