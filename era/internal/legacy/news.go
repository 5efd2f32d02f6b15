package legacy

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Notified hears a notification of the client. Cancelling is not among them:
// what is in flight is known to whoever carries the messages.
func (s *Session) Notified(m *jsonrpc.Message) {
	if m.Method != noteInitialized {
		return // no notification changes anything but what is asked again anyway
	}
	s.mu.Lock()
	caller, open := s.caller, s.rev != nil && s.news == nil && !s.closed
	s.mu.Unlock()
	if !open {
		return
	}
	stop, err := s.listen(caller, mcp.Filter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})
	if err != nil {
		return // a server without news
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.news != nil {
		defer stop()
		return
	}
	s.news = stop
}

// listen holds a subscription open whose notes are pushed to the client. A
// Handler that is no Listener costs a goroutine.
func (s *Session) listen(caller mcp.Caller, f mcp.Filter) (stop func(), err error) {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: f})
	if err != nil {
		return nil, err
	}
	c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: caller}
	c.Side = func(n mcp.Note) {
		switch n.Method {
		case mcp.NoteAcknowledged, mcp.NoteProgress, mcp.NoteMessage: // not news
		default:
			s.push(func(dst []byte) []byte { return appendNote(dst, n, nil) })
		}
	}
	if l, ok := s.h.(mcp.Listener); ok {
		if stop, err = l.Listen(c); !errors.Is(err, mcp.ErrListenByCall) {
			return stop, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.waiting.Go(func() { s.h.Serve(ctx, c) })
	return cancel, nil
}

// setLevel serves logging/setLevel.
func (s *Session) setLevel(params json.RawMessage) error {
	var in struct {
		Level string `json:"level"`
	}
	if err := mcp.Unmarshal(params, &in); err != nil {
		return mcp.InvalidParams("%s: %v", methodSetLevel, err)
	}
	level, err := mcp.ParseLogLevel(in.Level)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offers.Logging == nil {
		return mcp.MethodNotFound(methodSetLevel)
	}
	s.caller.LogLevel = level
	return nil
}

type uriParams struct {
	URI string `json:"uri"`
}

// subscribe serves resources/subscribe: a second subscription to the same
// resource changes nothing.
func (s *Session) subscribe(params json.RawMessage) error {
	var in uriParams
	if err := mcp.Unmarshal(params, &in); err != nil || in.URI == "" {
		return mcp.InvalidParams("%s: uri is missing", methodSubscribe)
	}
	s.mu.Lock()
	caller := s.caller
	_, watched := s.watched[in.URI]
	full := len(s.watched) >= maxWatched
	offered := s.offers.Resources != nil && s.offers.Resources.Subscribe
	s.mu.Unlock()
	switch {
	case !offered:
		return mcp.MethodNotFound(methodSubscribe)
	case watched:
		return nil
	case full:
		return mcp.InvalidParams("%s: at most %d resources can be subscribed to in one session", methodSubscribe, maxWatched)
	}
	stop, err := s.listen(caller, mcp.Filter{ResourceSubscriptions: []string{in.URI}})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.watched[in.URI]; again || s.closed {
		defer stop()
		return nil
	}
	s.watched[in.URI] = stop
	return nil
}

// unsubscribe serves resources/unsubscribe.
func (s *Session) unsubscribe(params json.RawMessage) error {
	var in uriParams
	if err := mcp.Unmarshal(params, &in); err != nil || in.URI == "" {
		return mcp.InvalidParams("%s: uri is missing", methodUnsubscribe)
	}
	s.mu.Lock()
	stop := s.watched[in.URI]
	delete(s.watched, in.URI)
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	return nil
}
