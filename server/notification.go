package server

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// notified are the functions that take in notifications of clients.
type notified struct {
	mu  sync.RWMutex
	all map[string]func(ctx context.Context, c *mcp.Call)
}

// OnNotification has f called for notifications of clients with this method,
// such as one of an extension, or notifications/roots/list_changed of an older
// client. A nil f ends it. The Call has the parameters and the caller; nothing
// can be asked or answered with it. Notifications of one connection or session
// to f come one at a time and in order, those of several at the same time; over
// HTTP, those of the newest revision come as their requests do. More than 256
// that wait on one connection are dropped.
//
// A notification passes the middleware as a call whose Notification is set.
// Those that the protocol itself needs (initialized, cancelled, progress) are
// not among them.
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

// hearNotification serves a call that is a notification.
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
