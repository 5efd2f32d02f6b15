package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Notified handles a notification of the client. It does not wait for the
// Handler. The transport handles notifications/cancelled itself.
func (s *Session) Notified(m *jsonrpc.Message) {
	switch m.Method {
	case mcp.NotificationInitialized:
	case mcp.NotificationProgress: // of an input request
		return
	default:
		s.pass(m)
		return
	}
	s.Ready()
}

// Ready counts the client as ready to receive changes.
func (s *Session) Ready() {
	s.mu.Lock()
	s.ready = s.rev != nil
	s.early = s.opening != nil
	s.mu.Unlock()
	s.listenAll()
}

// pass passes a notification of an initialized client to the Handler.
func (s *Session) pass(m *jsonrpc.Message) {
	c := new(mcp.Call)
	lift(m, c, false)
	c.IsNotification, c.Progress = true, false
	s.Later(func(ctx context.Context) {
		var rev *revision
		if rev, c.Caller = s.opener(ctx); rev != nil {
			h, _ := s.handler()
			protocol.Recover(nil)(h).Serve(ctx, c) // a notification has no response
		}
	})
}

// Later queues f behind earlier notifications. f is not called after Close.
func (s *Session) Later(f func(ctx context.Context)) { s.inbox.Put(f) }

// Attach sends changes to p. detach stops that, unless Attach was called again
// meanwhile; the session keeps its subscriptions.
func (s *Session) Attach(p Pusher) (detach func()) {
	s.mu.Lock()
	s.push = p
	s.mu.Unlock()
	s.listenAll()
	return func() { s.detach(p) }
}

func (s *Session) detach(p Pusher) {
	s.mu.Lock()
	if s.push != p {
		s.mu.Unlock()
		return
	}
	stops := s.takeStopsLocked()
	s.push = nil
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// takeStopsLocked removes and returns the stop functions of the open
// subscriptions.
func (s *Session) takeStopsLocked() (stops []func()) {
	if s.changes != nil {
		stops, s.changes = append(stops, s.changes), nil
	}
	for uri, stop := range s.watched {
		if stop != nil {
			stops, s.watched[uri] = append(stops, stop), nil
		}
	}
	return stops
}

// listenAll opens the missing subscriptions once the client is ready: that to
// changes of lists and those to the resources it has subscribed to. The Handler
// may refuse them. It returns the subscriptions to resources that were not open
// yet, by URI.
func (s *Session) listenAll() map[string]*pendingSub {
	s.mu.Lock()
	caller, due := s.caller, s.ready && s.push != nil && !s.closed
	lists := due && s.changes == nil
	var uris []string
	for uri, stop := range s.watched {
		if due && stop == nil {
			uris = append(uris, uri)
		}
	}
	s.mu.Unlock()
	if lists {
		stop, _, err := s.listen(caller, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})
		if err == nil {
			s.hold(stop, func() bool { return s.changes == nil }, func() { s.changes = stop })
		}
	}
	pending := map[string]*pendingSub{}
	for _, uri := range uris {
		stop, sub, err := s.listen(caller, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
		pending[uri] = sub
		if err == nil {
			s.hold(stop, func() bool { old, ok := s.watched[uri]; return ok && old == nil }, func() { s.watched[uri] = stop })
		}
	}
	return pending
}

// hold keeps a subscription if wanted still reports true, and stops it otherwise.
func (s *Session) hold(stop func(), wanted func() bool, keep func()) {
	s.mu.Lock()
	ok := !s.closed && s.push != nil && wanted()
	if ok {
		keep()
	}
	s.mu.Unlock()
	if !ok {
		stop()
	}
}

// A pendingSub is a subscription that the Handler may not have acknowledged yet.
type pendingSub struct {
	settled chan struct{} // closed when it is acknowledged or has ended
	refused error         // set before settled is closed
}

// settledSub returns a subscription that is open, or was refused.
func settledSub(refused error) *pendingSub {
	p := &pendingSub{settled: make(chan struct{}), refused: refused}
	close(p.settled)
	return p
}

// listen opens a subscription whose notifications are pushed to the client. It
// does not block: a Handler that does not detach runs in a goroutine.
func (s *Session) listen(caller mcp.Caller, f mcp.SubscriptionFilter) (stop func(), sub *pendingSub, err error) {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: f})
	if err != nil {
		return nil, settledSub(err), err
	}
	h, _ := s.handler()
	h = protocol.Recover(nil)(h)
	held := new(clientcall.Detached)
	c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: caller, OnNotification: s.pushNotification, Detach: held.Add}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = h.Serve(ended, c)
	switch {
	case err == nil && held.Any():
		return held.Stop, settledSub(nil), nil
	case refused(err):
		held.Stop()
		return nil, settledSub(err), err
	}
	held.Stop()
	blocking := *c
	blocking.Detach = nil
	sub = &pendingSub{settled: make(chan struct{})}
	settle := sync.OnceFunc(func() { close(sub.settled) })
	blocking.OnNotification = func(n mcp.Notification) {
		if n.Method == mcp.NotificationSubscriptionsAcknowledged {
			settle()
		}
		s.pushNotification(n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.background(func() {
		defer settle()
		_, err := h.Serve(ctx, &blocking)
		select {
		case <-sub.settled:
		default:
			if refused(err) {
				sub.refused = err
			}
		}
	})
	return cancel, sub, nil
}

// refused reports whether the Handler refuses a subscription. Any other error may
// come from the canceled context.
func refused(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeInvalidRequest, mcp.CodeMissingCapability:
		return true
	}
	return e.HTTPStatus != 0 // see [mcp.Refusal]
}

// pushNotification pushes a notification of a subscription to the client.
func (s *Session) pushNotification(n mcp.Notification) {
	switch n.Method {
	case mcp.NotificationSubscriptionsAcknowledged, mcp.NotificationProgress, mcp.NotificationMessage:
		return // not a change
	}
	if n.IsRelease() {
		return
	}
	s.mu.Lock()
	to := s.push
	s.mu.Unlock()
	if to != nil {
		to.Notify(clientcall.Outgoing(n, func(dst []byte) []byte { return appendNotification(dst, n, nil) }))
	}
}

// setLevel serves logging/setLevel.
func (s *Session) setLevel(params json.RawMessage) error {
	s.mu.Lock()
	offered := s.offers.logging
	s.mu.Unlock()
	if !offered {
		return mcp.MethodNotFound(mcp.MethodLoggingSetLevel)
	}
	var in struct {
		Level string `json:"level"`
	}
	if err := mcp.Unmarshal(params, &in); err != nil {
		return mcp.InvalidParams("%s: %v", mcp.MethodLoggingSetLevel, err)
	}
	level, err := mcp.ParseLogLevel(in.Level)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller.LogLevel = level
	return nil
}

type uriParams struct {
	URI string `json:"uri"`
}

// subscribe serves resources/subscribe: a second subscription to the same
// resource changes nothing.
func (s *Session) subscribe(ctx context.Context, params json.RawMessage) error {
	var in uriParams
	if err := mcp.Unmarshal(params, &in); err != nil || in.URI == "" {
		return mcp.InvalidParams("%s: uri is missing", mcp.MethodResourcesSubscribe)
	}
	s.mu.Lock()
	_, watched := s.watched[in.URI]
	bytes := len(in.URI)
	for uri := range s.watched {
		bytes += len(uri)
	}
	full := len(s.watched) >= maxWatched || bytes > maxWatchedBytes
	offered := s.offers.subscribe
	if offered && !watched && !full && !s.closed {
		if s.watched == nil {
			s.watched = map[string]func(){}
		}
		s.watched[in.URI] = nil
	}
	s.ready = true // a client that subscribes is ready
	s.mu.Unlock()
	switch {
	case !offered:
		return mcp.MethodNotFound(mcp.MethodResourcesSubscribe)
	case full && !watched:
		return mcp.InvalidParams("%s: at most %d resources, and %d bytes of URIs, can be subscribed to in one session", mcp.MethodResourcesSubscribe, maxWatched, maxWatchedBytes)
	}
	// A change after the response must reach the client.
	timeout := time.NewTimer(acknowledgeTimeout)
	defer timeout.Stop()
	for uri, sub := range s.listenAll() {
		select {
		case <-sub.settled:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return nil
		}
		if uri == in.URI && mayRetry(sub.refused) {
			s.mu.Lock()
			delete(s.watched, uri)
			s.mu.Unlock()
			return sub.refused
		}
	}
	return nil
}

// mayRetry reports whether a subscription was refused for now, so that the client
// has to know. A server that has no subscriptions just never notifies.
func mayRetry(refused error) bool {
	e, ok := errors.AsType[*mcp.Error](refused)
	return ok && e.HTTPStatus != 0
}

// acknowledgeTimeout is how long resources/subscribe waits for the Handler.
const acknowledgeTimeout = 10 * time.Second

// unsubscribe serves resources/unsubscribe.
func (s *Session) unsubscribe(params json.RawMessage) error {
	var in uriParams
	if err := mcp.Unmarshal(params, &in); err != nil || in.URI == "" {
		return mcp.InvalidParams("%s: uri is missing", mcp.MethodResourcesUnsubscribe)
	}
	s.mu.Lock()
	offered := s.offers.subscribe
	stop := s.watched[in.URI]
	delete(s.watched, in.URI)
	s.mu.Unlock()
	if !offered {
		return mcp.MethodNotFound(mcp.MethodResourcesUnsubscribe)
	}
	if stop != nil {
		stop()
	}
	return nil
}

// Revision 2025-11-25 gives each URL elicitation an id, and has a notification
// with this id for its completion. Above this package, the key of the input
// request within its call takes the place of the id.

const keyElicitation = "elicitationId"

// pages maps the keys of the URL elicitations of one call to their ids.
type pages struct {
	mu  sync.Mutex
	ids map[string]string
}

// asked remembers the elicitation id in the params of an input request, if any.
func (p *pages) asked(key string, params []byte) {
	id, ok := rawjson.String(rawjson.Lookup(params, keyElicitation))
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = map[string]string{}
	}
	p.ids[key] = id
}

// complete returns the notification of completion with the client's id. It
// reports false if the client knows no such elicitation.
func (p *pages) complete(n mcp.Notification) (out mcp.Notification, ok bool) {
	key, _ := rawjson.String(rawjson.Lookup(n.Params, keyElicitation))
	p.mu.Lock()
	id, ok := p.ids[key]
	p.mu.Unlock()
	return pageDone(n, id), ok
}

// pageDone returns n with another elicitation id.
func pageDone(n mcp.Notification, id string) mcp.Notification {
	n.Params = withMember(nil, keyElicitation, rawjson.AppendString(nil, id))
	return n
}
