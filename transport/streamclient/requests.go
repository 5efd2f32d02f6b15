package streamclient

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// serveRequest serves a request of the server in a goroutine and sends the
// response. p is the exchange on whose stream the request arrived, or nil. If
// too many requests are being served, the caller sends an error response, so
// that rejected requests do not pile up: the stream is read no further
// meanwhile.
func (l *link) serveRequest(m jsonrpc.Message, origin int64, p *post) {
	key := m.ID.Key()
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	inUse, full := l.serving[key] != nil, len(l.serving) >= maxServing
	if !inUse && !full {
		l.serving[key] = cancel
	}
	l.mu.Unlock()
	switch {
	case inUse: // an error response could be taken for that of the other request
		cancel()
		l.in.InvalidFrame(nil, fmt.Errorf("request %q from the server dropped: its id is in use", m.Method))
	case full:
		tooMany := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("too many requests at once: the limit is %d", maxServing)}
		l.respond(ctx, &m, jsonrpc.AppendError(nil, m.ID, tooMany), p)
		cancel()
	case !l.begin():
		l.settle(key)
		cancel()
	default:
		go func() { // one request
			defer l.end()
			defer cancel()
			defer l.settle(key)
			if response := l.in.Request(ctx, &m, origin); response != nil && ctx.Err() == nil {
				l.respond(ctx, &m, response(nil), p)
			}
		}()
	}
}

// respond sends the response to a request of the server. If that fails, the
// exchange p fails, if there is one: the server would wait forever.
func (l *link) respond(ctx context.Context, m *jsonrpc.Message, response []byte, p *post) {
	ctx, done := context.WithTimeout(ctx, notifyTimeout)
	defer done()
	err := l.sendOneWay(ctx, &jsonrpc.Message{ID: m.ID}, response)
	switch {
	case err == nil:
	case p != nil:
		p.fail(&undelivered{m.Method, err})
		l.cancel(p)
	case l.ctx.Err() == nil:
		l.in.Undelivered(&undelivered{m.Method, err})
	}
}

// cancel sends notifications/cancelled for a request to a legacy server.
func (l *link) cancel(p *post) {
	ctx, cancel := context.WithTimeout(l.ctx, cancelTimeout)
	defer cancel()
	params := append(append([]byte(`{"requestId":`), p.m.ID...), '}')
	if err := l.Notify(ctx, mcp.NotificationCancelled, params); err != nil && l.ctx.Err() == nil {
		l.in.Undelivered(fmt.Errorf("send %s: %w", mcp.NotificationCancelled, err))
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
	if m.Method == mcp.NotificationCancelled {
		if id := rawjson.Lookup(m.Params, "requestId"); id != nil && l.settle(jsonrpc.ID(id).Key()) {
			return
		}
	}
	l.in.Notification(m, origin)
}
