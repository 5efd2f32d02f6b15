package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addTaskTools adds the tools of the tasks scenarios.
func addTaskTools(s *server.Server) error {
	m, err := tasks.NewManager(s, &tasks.Options{PollInterval: 100 * time.Millisecond, MaxTasks: 1000})
	if err != nil {
		return err
	}
	server.AddTool(s, "greet", "Greets at once.", func(_ context.Context, _ *mcp.Call, in nameForm) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}, nil)
	type compute struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label,omitzero"`
	}
	server.AddTool(s, "slow_compute", "Takes some seconds.", func(ctx context.Context, _ *mcp.Call, in compute) (string, error) {
		return "computed " + in.Label, sleep(ctx, time.Duration(in.Seconds*float64(time.Second)))
	}, m.Tool(tasks.Optional, nil))
	server.AddTool(s, "failing_job", "Fails after a second.", func(ctx context.Context, _ *mcp.Call, _ nothing) (string, error) {
		if err := sleep(ctx, time.Second); err != nil {
			return "", err
		}
		return "", errors.New("the job failed")
	}, m.Tool(tasks.Required, nil))
	server.AddTool(s, "protocol_error_job", "Fails with a protocol error.", func(context.Context, *mcp.Call, nothing) (string, error) {
		return "", mcp.Errorf(mcp.CodeInternal, "the job broke")
	}, m.Tool(tasks.Required, nil))
	type file struct {
		Filename string `json:"filename"`
	}
	type confirmation struct {
		Confirm bool `json:"confirm"`
	}
	server.AddTool(s, "confirm_delete", "Asks before it deletes.", func(_ context.Context, c *mcp.Call, in file) (string, error) {
		f, err := server.Elicit[confirmation](c, "confirm", "Delete "+in.Filename+"?")
		return fmt.Sprintf("deleted: %v", f.Confirm), err
	}, m.Tool(tasks.Required, nil))
	server.AddTool(s, "multi_input", "Asks two things at once.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		var one, two struct {
			Name    string `json:"name,omitzero"`
			Confirm bool   `json:"confirm,omitzero"`
		}
		err := server.AskAll(c, server.FormInput("one", "First?", &one), server.FormInput("two", "Second?", &two))
		return fmt.Sprint(one, two), err
	}, m.Tool(tasks.Required, nil))
	server.AddTool(s, "test_tool_with_task", "Asks, then becomes a task.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		name, err := server.Elicit[nameForm](c, "user_name", "What is your name?")
		if err != nil {
			return "", err
		}
		if err := tasks.Begin(ctx); err != nil {
			return "", err
		}
		return "Hello, " + name.Name + "!", sleep(ctx, 200*time.Millisecond)
	}, m.DeferredTool(tasks.Required, nil))
	return nil
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
