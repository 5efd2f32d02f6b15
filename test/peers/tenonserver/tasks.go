package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addTasks adds tools whose calls are tasks.
func addTasks(s *server.Server) error {
	m, err := tasks.NewManager(s, &tasks.Options{PollInterval: 100 * time.Millisecond, TTL: 10 * time.Minute})
	if err != nil {
		return err
	}
	add := func(name string, f func(ctx context.Context, c *mcp.Call) (string, error)) {
		server.AddTool(s, name, "is a task", func(ctx context.Context, c *mcp.Call, _ none) (string, error) { return f(ctx, c) }, m.Tool(tasks.Required, nil))
	}
	add("task-completes", func(context.Context, *mcp.Call) (string, error) { return "done", nil })
	add("task-is-error", func(context.Context, *mcp.Call) (string, error) { return "", errors.New("out of paper") })
	add("task-fails", func(context.Context, *mcp.Call) (string, error) { return "", mcp.Errorf(-32050, "broken") })
	add("task-asks", func(_ context.Context, c *mcp.Call) (string, error) {
		p, err := server.Elicit[person](c, "name", "What is your name?")
		if err != nil {
			return "", err
		}
		q, err := server.Elicit[person](c, "other", "And theirs?")
		if err != nil {
			return "", err
		}
		return p.Name + " and " + q.Name, nil
	})
	add("task-works", func(ctx context.Context, _ *mcp.Call) (string, error) {
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "task-works: cancelled")
		return "", ctx.Err()
	})
	return nil
}
