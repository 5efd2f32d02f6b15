package streamclient

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// serveRequest serves a request of the server in a goroutine and sends the response. p is
// the exchange on whose stream the request arrived, or nil.
func (l *link) serveRequest(m jsonrpc.Message, origin int64, p *post) {
	key := m.ID.Key()
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	ok := len(l.serving) < maxServing && l.serving[key] == nil
	if ok {
		l.serving[key] = cancel
	}
	l.mu.Unlock()
	if ok && !l.begin(false) {
		l.settle(key)
		cancel()
		return
	}
	if !ok {
		cancel()
		l.in.InvalidFrame(nil, fmt.Errorf("request %q from the server dropped: too many are pending, or its id is in use", m.Method))
		return
	}
	go func() { // one request
		defer l.end()
		defer cancel()
		defer l.settle(key)
		answer := l.in.Request(ctx, &m, origin)
		if answer == nil || ctx.Err() != nil {
			return
		}
		ctx, done := context.WithTimeout(ctx, notifyTimeout)
		defer done()
		err := l.sendOneWay(ctx, &jsonrpc.Message{ID: m.ID}, answer(nil))
		switch {
		case err == nil:
		case p != nil: // the server would wait for the response forever
			p.fail(&undelivered{m.Method, err})
			l.cancel(p)
		case l.ctx.Err() == nil:
			l.in.Undelivered(&undelivered{m.Method, err})
		}
	}()
}

// cancel sends notifications/cancelled for a request to a legacy server.
func (l *link) cancel(p *post) {
	ctx, cancel := context.WithTimeout(l.ctx, cancelTimeout)
	defer cancel()
	params := append(append([]byte(`{"requestId":`), p.m.ID...), '}')
	if err := l.Notify(ctx, notificationCancelled, params); err != nil && l.ctx.Err() == nil {
		l.in.Undelivered(fmt.Errorf("send %s: %w", notificationCancelled, err))
	}
}

type undelivered struct {
	method string
	cause  error
}

func (e *undelivered) Error() string {
	return "send the response to the server's " + e.method + ": " + e.cause.Error()
}

func (e *undelivered) Unwrap() error { return e.cause }

// settle cancels and removes a request of the server, and reports whether it was
// pending.
func (l *link) settle(key string) bool {
	l.mu.Lock()
	cancel := l.serving[key]
	delete(l.serving, key)
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}

// handleNotification handles a notification of the server.
func (l *link) handleNotification(m *jsonrpc.Message, origin int64) {
	if m.Method == notificationCancelled {
		if id := rawjson.Lookup(m.Params, "requestId"); id != nil && l.settle(jsonrpc.ID(id).Key()) {
			return
		}
	}
	l.in.Notification(m, origin)
}
