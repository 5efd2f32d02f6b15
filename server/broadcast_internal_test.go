package server

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// TestStopBeforeTheSubscriptionOpens has the caller end a subscription as soon
// as it can.
func TestStopBeforeTheSubscriptionOpens(t *testing.T) {
	s := New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	defer s.Close()
	_, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{}}`),
		OnNotification: func(mcp.Notification) {}, Detach: func(stop func()) { stop() }})
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	if err != nil || len(s.changes.subs) != 0 {
		t.Errorf("%d subscriptions are left; %v", len(s.changes.subs), err)
	}
}
