package server

import "github.com/tenon-mcp/tenon/mcp"

// Progress tells the caller how far a call has come, if it wants to know. done
// must grow from one time to the next; what does not is dropped, also what a
// handler that asks says again in its next round. A total of 0 means that it is
// not known.
func Progress(c *mcp.Call, done, total float64, message string) {
	if !c.Progress || c.OnNotification == nil {
		return
	}
	params, err := mcp.Marshal(mcp.ProgressParams{Progress: done, Total: total, Message: message})
	if err == nil {
		c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: params})
	}
}

// rising returns a call whose progress only rises.
func rising(c *mcp.Call) *mcp.Call {
	if !c.Progress || c.OnNotification == nil {
		return c
	}
	copied := *c
	copied.OnNotification = mcp.IncreasingProgress(c.OnNotification)
	return &copied
}
