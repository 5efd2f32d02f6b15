package legacy

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

// handler returns the Handler of the session, and whether it is wrapped in
// extensions.
func (s *Session) handler() (h mcp.Handler, extends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.extends != nil {
		return s.extends, true
	}
	return s.h, false
}

// extended returns the Handler of a session, wrapped in the extensions that the
// server declares; nil if there are none. They may change what the server
// declares, which then replaces found. end ends what they run.
func (s *Session) extended(ctx context.Context, caller *mcp.Caller, found *mcp.Discovery) (h mcp.Handler, end context.CancelFunc, err error) {
	if s.stateless || !protocol.ExtendsLegacyClients(&found.Capabilities) {
		return nil, nil, nil
	}
	life, end := context.WithCancel(context.Background())
	h = protocol.ForLegacyClient(s.h, &found.Capabilities, &mcp.LegacySession{
		Revision: caller.Revision, Context: life, Notify: s.pushNotification, Ask: s.askOutside,
	})
	res, err := h.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover, Caller: *caller})
	if err == nil {
		var projected *mcp.Discovery
		if projected, err = protocol.DecodeDiscovery(res); err == nil {
			*found = *projected
			return h, end, nil
		}
	}
	end()
	return nil, nil, err
}

// errDetached is the error of an input request outside of a call to a client
// that is not connected.
var errDetached = errors.New("the client is not connected")

// askOutside sends an input request that belongs to no call.
func (s *Session) askOutside(ctx context.Context, q mcp.InputRequest) (json.RawMessage, error) {
	s.mu.Lock()
	to, rev, caller := s.push, s.rev, s.caller
	s.mu.Unlock()
	if to == nil {
		return nil, errDetached
	}
	params, err := project(rev, &mcp.Call{Caller: caller}, q)
	if err != nil {
		return nil, err
	}
	return ask(ctx, q.Method, params, to)
}
