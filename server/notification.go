package server

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

// notified holds the functions that handle notifications from clients.
type notified struct {
	mu  sync.RWMutex
	all map[string]func(ctx context.Context, c *mcp.Call)
}

// OnNotification calls f for notifications from clients with this method, such
// as those of an extension, or notifications/roots/list_changed from clients of
// older revisions. A nil f removes the function. The Call holds the parameters
// and the caller; it can neither be responded to nor request input.
//
// Notifications of one connection or session are handled one at a time and in
// order, those of different ones concurrently; over HTTP, notifications of the
// newest revision are handled as their requests arrive. At most 256 wait per
// connection; more are dropped.
//
// Middleware sees a notification as a call with IsNotification set.
// Notifications that the protocol itself uses (initialized, cancelled,
// progress) are not passed on.
func (s *Server) OnNotification(method string, f func(ctx context.Context, c *mcp.Call)) {
	s.notified.mu.Lock()
	defer s.notified.mu.Unlock()
	if f == nil {
		delete(s.notified.all, method)
		return
	}
	if s.notified.all == nil {
		s.notified.all = map[string]func(context.Context, *mcp.Call){}
	}
	s.notified.all[method] = f
}

// handleNotification serves a call that is a notification.
func (s *Server) handleNotification(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	s.notified.mu.RLock()
	f := s.notified.all[c.Method]
	s.notified.mu.RUnlock()
	if f == nil {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	f(ctx, c)
	return mcp.Result{}, nil
}

// Progress sends a progress notification to the client of the call, if it asked
// for them. done must increase from one notification to the next; others are
// dropped, including those that a handler repeats in the next round. A total of
// 0 means unknown.
func Progress(c *mcp.Call, done, total float64, message string) {
	if !c.Progress || c.OnNotification == nil {
		return
	}
	params, err := mcp.Marshal(mcp.ProgressParams{Progress: done, Total: total, Message: message})
	if err == nil {
		c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: params})
	}
}

// increasing returns a call that drops progress that does not increase.
func increasing(c *mcp.Call) *mcp.Call {
	if !c.Progress || c.OnNotification == nil {
		return c
	}
	copied := *c
	copied.OnNotification = protocol.IncreasingProgress(c.OnNotification)
	return &copied
}
