package client

import (
	"context"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds the logging feature, which the 2026 revision deprecates.

// Logging requests log messages from servers.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Read the server's stderr or use OpenTelemetry instead.
type Logging struct {
	// Level is the minimum severity. Empty means info.
	Level mcp.LogLevel

	// OnMessage receives the log messages. The context is that of the call, or
	// context.Background() for messages of older servers outside of a call. It
	// must not block. Nil requests no log messages.
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

// message passes a log message to OnMessage if its severity suffices.
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
