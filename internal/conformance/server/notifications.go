package main

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addNotificationTools adds the tools that send notifications.
func addNotificationTools(s *server.Server) {
	server.AddTool(s, "test_tool_with_logging", "Logs three lines while it runs.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		log := server.Logger(c, "test_tool_with_logging")
		log.Info("Tool execution started")
		pause(ctx, 50*time.Millisecond)
		log.Info("Tool processing data")
		pause(ctx, 50*time.Millisecond)
		log.Info("Tool execution completed")
		return "Three lines were logged.", nil
	}, nil)
	server.AddTool(s, "test_logging_tool", "Logs one line, for callers that want log lines.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		server.Logger(c, "test_logging_tool").Info("This line is for those who asked for it.")
		return "One line was logged.", nil
	}, nil)
	server.AddTool(s, "test_tool_with_progress", "Reports progress three times.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		server.Progress(c, 0, 100, "begun")
		pause(ctx, 50*time.Millisecond)
		server.Progress(c, 50, 100, "half done")
		pause(ctx, 50*time.Millisecond)
		server.Progress(c, 100, 100, "done")
		return "Progress was reported.", nil
	}, nil)
	server.AddTool(s, "test_reconnection", "Lets the client go while it runs; the client comes back for the result.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		c.Notify(mcp.Notification{Method: mcp.NotificationRelease})
		pause(ctx, 100*time.Millisecond)
		return "Reconnection test completed successfully", nil
	}, nil)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
