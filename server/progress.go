package server

import (
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

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
