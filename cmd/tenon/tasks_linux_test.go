package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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

// A server that keeps its tasks in a file has them after it was killed: those
// that had ended, and those that were running as failed.
func TestServeKeepsTasks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	k := newTasker(t)
	url, server := serveTasks(t, "127.0.0.1:0", file)
	done := strings.TrimSpace(k.words(exitOK, "call "+url+" slow_report topic=tea seconds=0 --detach"))
	k.words(exitOK, "tasks wait "+url+" "+done, "Report on tea")
	running := strings.TrimSpace(k.words(exitOK, "call "+url+" slow_report topic=coffee seconds=3600 --detach"))
	server.Process.Kill()
	server.Wait()
	_, server = serveTasks(t, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"), file)
	k.words(exitOK, "tasks get "+url+" "+done, "Report on tea", "err:completed")
	k.words(exitProtocol, "tasks wait "+url+" "+running, "err:the server stopped while it was running the task")
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	server.Wait()
	if left, err := filepath.Glob(file + "-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	k.words(exitUsage, "serve calc --tasks "+file+".calc", `err:--tasks: no tool of "calc" runs as a task`)
	if _, err := os.Stat(file + ".calc"); err == nil {
		t.Error("a file was made")
	}
	k.words(exitUsage, "serve nosuch --tasks "+file, "err:unknown builtin server")
	k.words(exitConnection, "serve demo --tasks "+filepath.Dir(file), "err:--tasks: ")
}

// serveTasks starts tenon serve with tasks in a file.
func serveTasks(t *testing.T, address, file string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = binary(t, "serve", "demo", "--http", address, "--tasks", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`http://\S+`).FindString(line), cmd
}
