package streamclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// asks serves a request of the server: whoever it is for answers, and the
// answer is sent. p is the exchange that the request belongs to, or nil.
func (l *link) asks(m jsonrpc.Message, origin int64, p *post) {
	key := m.ID.Key()
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	ok := len(l.asked) < maxAsked && l.asked[key] == nil
	if ok {
		l.asked[key] = cancel
	}
	l.mu.Unlock()
	if ok && !l.begin(false) {
		l.settle(key)
		cancel()
		return
	}
	if !ok {
		cancel()
		l.in.InvalidFrame(nil, errors.New("a request of the server ("+m.Method+") was dropped: too many wait for an answer, or its id is in use"))
		return
	}
	go func() { // one question
		defer l.end()
		defer cancel()
		defer l.settle(key)
		answer := l.in.Request(ctx, &m, origin)
		if answer == nil || ctx.Err() != nil {
			return
		}
		ctx, done := context.WithTimeout(ctx, notifyTimeout)
		defer done()
		err := l.tell(ctx, &jsonrpc.Message{ID: m.ID}, answer(nil))
		switch {
		case err == nil:
		case p != nil: // the server would wait in vain
			p.fail(&undelivered{m.Method, err})
			l.cancel(p)
		case l.ctx.Err() == nil:
			l.in.Undelivered(&undelivered{m.Method, err})
		}
	}()
}

// cancel tells an older server that nobody waits for the answer to a request.
func (l *link) cancel(p *post) {
	ctx, cancel := context.WithTimeout(l.ctx, goodbye)
	defer cancel()
	params := append(append([]byte(`{"requestId":`), p.m.ID...), '}')
	if err := l.Notify(ctx, notificationCancelled, params); err != nil && l.ctx.Err() == nil {
		l.in.Undelivered(fmt.Errorf("%s could not be delivered: %w", notificationCancelled, err))
	}
}

type undelivered struct {
	method string
	cause  error
}

func (e *undelivered) Error() string {
	return "the answer to the server's " + e.method + " could not be delivered: " + e.cause.Error()
}

func (e *undelivered) Unwrap() error { return e.cause }

// settle forgets a request of the server, and reports whether there was one.
func (l *link) settle(key string) bool {
	l.mu.Lock()
	cancel := l.asked[key]
	delete(l.asked, key)
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}

// told takes in a notification.
func (l *link) told(m *jsonrpc.Message, origin int64) {
	if m.Method == notificationCancelled {
		if id := rawjson.Lookup(m.Params, "requestId"); id != nil && l.settle(jsonrpc.ID(id).Key()) {
			return
		}
	}
	l.in.Notification(m, origin)
}
