package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

// state is the state of a session that moves to another process. A client that
// uses a restored session counts as ready: it need not send
// notifications/initialized again.
type state struct {
	Revision     mcp.Revision            `json:"rev"`
	Client       *mcp.Implementation     `json:"client"`
	Capabilities *mcp.ClientCapabilities `json:"can"`
	LogLevel     string                  `json:"log"`
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
		LogLevel: string(s.caller.LogLevel), Watched: slices.Sorted(maps.Keys(s.watched)),
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
	level, err := in.level()
	if err != nil {
		return err
	}
	known := shared(clientcall.Introduction{Client: in.Client, Capabilities: in.Capabilities})
	caller := mcp.Caller{Revision: rev.name, Client: known.Client, Capabilities: known.Capabilities, LogLevel: level, Principal: p, Session: s.session}
	res, err := s.h.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover, Caller: caller})
	if err != nil {
		return err
	}
	found, err := protocol.DecodeDiscovery(res)
	if err != nil {
		return err
	}
	extends, end, err := s.extended(ctx, &caller, found)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extends, s.end = extends, end
	s.rev, s.caller, s.offers, s.ready = rev, caller, offersOf(&found.Capabilities), true
	if len(in.Watched) > 0 {
		s.watched = map[string]func(){}
		for _, uri := range in.Watched {
			s.watched[uri] = nil
		}
	}
	return nil
}

// level returns the log level; empty if the server does not log.
func (in *state) level() (mcp.LogLevel, error) {
	if in.LogLevel == "" {
		return "", nil
	}
	return mcp.ParseLogLevel(in.LogLevel)
}

// Update gives a live session the log level and the subscriptions of a state of
// [Session.State]. Calls in flight keep the level that they began with.
func (s *Session) Update(raw json.RawMessage) error {
	var in state
	if err := mcp.Unmarshal(raw, &in); err != nil {
		return err
	}
	level, err := in.level()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.caller.LogLevel = level
	var stops []func()
	for uri, stop := range s.watched {
		if !slices.Contains(in.Watched, uri) {
			delete(s.watched, uri)
			if stop != nil {
				stops = append(stops, stop)
			}
		}
	}
	for _, uri := range in.Watched {
		if _, there := s.watched[uri]; !there && !s.closed {
			if s.watched == nil {
				s.watched = map[string]func(){}
			}
			s.watched[uri] = nil
		}
	}
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	s.listenAll()
	return nil
}

// Missed sends all notifications of changes that the session may have missed.
func (s *Session) Missed() {
	s.mu.Lock()
	uris, o := slices.Sorted(maps.Keys(s.watched)), s.offers
	s.mu.Unlock()
	for _, list := range []struct {
		method  string
		offered bool
	}{
		{mcp.NotificationToolsListChanged, o.tools},
		{mcp.NotificationPromptsListChanged, o.prompts},
		{mcp.NotificationResourcesListChanged, o.resources},
	} {
		if list.offered {
			s.pushNotification(mcp.Notification{Method: list.method})
		}
	}
	for _, uri := range uris {
		s.pushNotification(mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: uriOnly(uri)})
	}
}

// NewStateless returns a session for a single request of a client without a
// session. r is the revision in the request's headers; "" means 2025-03-26, as
// the specification says. The capabilities of the client are unknown, so input
// requests fail.
func NewStateless(h mcp.Handler, r mcp.Revision) *Session {
	if r == "" {
		r = mcp.Rev20250326
	}
	s := &Session{h: h, stateless: true, rev: find(r)}
	if s.rev != nil {
		s.caller = mcp.Caller{Revision: r, Capabilities: &mcp.ClientCapabilities{}}
	}
	return s
}

// NewStatelessOpening returns a session that serves a single initialize.
func NewStatelessOpening(h mcp.Handler) *Session { return &Session{h: h, stateless: true} }

// restrictStateless removes the capabilities that need a session.
func restrictStateless(c *mcp.ServerCapabilities) {
	if c.Tools != nil {
		c.Tools = &mcp.ListCapability{}
	}
	if c.Prompts != nil {
		c.Prompts = &mcp.ListCapability{}
	}
	if c.Resources != nil {
		c.Resources = &mcp.ResourcesCapability{}
	}
	c.Logging = nil
}

// needsSession returns the error for a method that needs a session.
func needsSession(method string) error {
	return mcp.Errorf(mcp.CodeMethodNotFound, "%s needs a session, and this server keeps none for clients of revisions before %s", method, mcp.Rev20260728)
}

// refuseInput returns the error for a call that requires input of a client
// without a session.
func refuseInput(err error) error {
	_, asks := errors.AsType[*mcp.InputRequired](err)
	e, ok := errors.AsType[*mcp.Error](err)
	if !asks && (!ok || e.Code != mcp.CodeMissingCapability) {
		return err
	}
	mcp.Abandon(err)
	return mcp.Errorf(mcp.CodeInvalidRequest, "this call asks the client for input, which needs a session, and this server keeps none for clients of revisions before %s: use a client of %[1]s or later", mcp.Rev20260728)
}
