package main

import (
	"context"
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// At a terminal a call shows the status of its task, and Ctrl-C cancels the task.
func TestInterruptCancelsTheTask(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	cancelled := make(chan struct{})
	server.AddTool(s, "wait", "Wait", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 0, "Waiting for Godot")
		<-ctx.Done()
		close(cancelled)
		return "", ctx.Err()
	}, m.Tool(tasks.Required, nil))
	url := listening(t, s)
	screen := ptytest.New(t)
	cmd := binary(t, "call", url, "wait")
	atTerminal(t, cmd, screen.TTY)
	screen.Sees("task working: Waiting for Godot")
	screen.Press("\x03")
	ends(t, cmd)
	screen.Sees("Cancelled task")
	<-cancelled
}

// Waiting for a detached task asks its question; Ctrl-C leaves the task running.
func TestWaitAsksAndCanStop(t *testing.T) {
	url := servingAt(t, "demo", "--http", "127.0.0.1:0")
	k := newTasker(t)
	start := binary(t, "call", url, "slow_report", "topic=tea", "seconds=0", "--detach", "--answer", "format=long")
	set(start, "TENON_CONFIG_DIR", k.config)
	if code, _, errs := output(t, start); code != exitOK {
		t.Fatal(errs)
	}
	for _, keys := range []string{"\x03", "long\r"} {
		screen := ptytest.New(t)
		cmd := binary(t, "tasks", "wait", url)
		set(cmd, "TENON_CONFIG_DIR", k.config)
		atTerminal(t, cmd, screen.TTY)
		screen.Sees("Which format shall the report have?")
		screen.Sees("format")
		screen.Press(keys)
		if keys == "\x03" {
			ends(t, cmd)
			screen.Sees("The task goes on")
			continue
		}
		screen.Sees("nothing unusual was found")
		cmd.Wait()
	}
}
