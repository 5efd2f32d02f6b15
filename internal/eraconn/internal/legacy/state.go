package legacy

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

// state is the state of a session that moves to another process.
type state struct {
	Revision     mcp.Revision            `json:"rev"`
	Client       *mcp.Implementation     `json:"client"`
	Capabilities *mcp.ClientCapabilities `json:"can"`
	LogLevel     string                  `json:"log"`
	Ready        bool                    `json:"ready,omitzero"`
	Watched      []string                `json:"watch,omitzero"`
}

// State returns the state for [Session.Restore], in this process or another; nil
// before initialize.
func (s *Session) State() (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil {
		return nil, nil
	}
	return mcp.Marshal(state{
		Revision: s.rev.name, Client: s.caller.Client, Capabilities: s.caller.Capabilities,
		LogLevel: string(s.caller.LogLevel), Ready: s.ready, Watched: slices.Sorted(maps.Keys(s.watched)),
	})
}

// Restore restores a state of [Session.State] in a new session. The principal is
// not part of the state: the caller verifies it.
func (s *Session) Restore(ctx context.Context, raw json.RawMessage, p *mcp.Principal) error {
	var in state
	if err := mcp.Unmarshal(raw, &in); err != nil {
		return err
	}
	rev := find(in.Revision)
	if rev == nil {
		return mcp.Errorf(mcp.CodeInternal, "restore the session: unknown revision %q", in.Revision)
	}
	level, err := mcp.ParseLogLevel(in.LogLevel)
	if err != nil {
		return err
	}
	caller := mcp.Caller{Revision: rev.name, Client: in.Client, Capabilities: in.Capabilities, LogLevel: level, Principal: p}
	res, err := s.h.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover, Caller: caller})
	if err != nil {
		return err
	}
	found, err := protocol.DecodeDiscovery(res)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev, s.caller, s.offers, s.ready = rev, caller, offersOf(&found.Capabilities), in.Ready
	if len(in.Watched) > 0 {
		s.watched = map[string]func(){}
		for _, uri := range in.Watched {
			s.watched[uri] = nil
		}
	}
	return nil
}
