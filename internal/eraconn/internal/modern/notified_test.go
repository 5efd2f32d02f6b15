package modern

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// Handlers do not get notifications that only the protocol uses, or that clients
// of this revision do not send.
func TestNotificationsOfTheProtocolStayHere(t *testing.T) {
	var seen []string
	s := newServer(t, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		seen = append(seen, c.Method)
		return mcp.Result{}, nil
	})
	for _, method := range []string{mcp.NotificationInitialized, mcp.NotificationProgress, mcp.NotificationCancelled, mcp.NotificationRootsListChanged, "notifications/x"} {
		s.Notified(t.Context(), message(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"_meta":{%s}}}`, method, goodMeta)), nil, nil)
	}
	if !slices.Equal(seen, []string{"notifications/x"}) {
		t.Errorf("the Handler gets %q", seen)
	}
}
