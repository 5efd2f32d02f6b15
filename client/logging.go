package client

import (
	"context"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds the logging feature, which the 2026 revision deprecates.

// Logging asks servers for log lines.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Read the server's stderr or use OpenTelemetry instead.
type Logging struct {
	// Level is the least severe line that is wanted. Unset: info.
	Level mcp.LogLevel

	// Hear hears the lines. The context is that of the call that a line rides
	// with, or an empty one for lines of older servers outside of any call. It
	// must not block. Nil: no lines are asked for.
	OnMessage func(ctx context.Context, line mcp.LogMessage)
}

func (l *Logging) level() mcp.LogLevel {
	switch {
	case l == nil || l.OnMessage == nil:
		return ""
	case l.Level == "":
		return mcp.LogInfo
	}
	return l.Level
}

// hear passes a line on if it is wanted.
func (l *Logging) message(ctx context.Context, n mcp.Notification) {
	least := l.level()
	if least == "" {
		return
	}
	var line mcp.LogMessage
	if mcp.Unmarshal(n.Params, &line) == nil && line.Level.AtLeast(least) {
		l.OnMessage(ctx, line)
	}
}
