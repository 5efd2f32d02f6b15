package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/internal/redistest"
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
	start := ptytest.New(t)
	cmd := binary(t, "call", url, "slow_report", "topic=tea", "seconds=0", "--detach") // with a terminal, so the server may ask
	set(cmd, "TENON_CONFIG_DIR", k.config)
	atTerminal(t, cmd, start.TTY)
	start.Sees("The call goes on as a task")
	cmd.Wait()
	k.words(exitProtocol, "tasks wait "+url, `err:the task asks "Which format shall the report have?" (fields: format)`, "err:--answer FIELD=VALUE", "err:--decline")
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
// that had ended, and those that were running, which it runs again if their tool may
// be repeated.
func TestServeKeepsTasks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	k := newTasker(t)
	url, server := serveTasks(t, freeport.ForTest(t), file)
	done := strings.TrimSpace(k.words(exitOK, "call "+url+" slow_report topic=tea seconds=0 --detach"))
	k.words(exitOK, "tasks wait "+url+" "+done, "Report on tea")
	running := strings.TrimSpace(k.words(exitOK, "call "+url+" slow_report topic=coffee seconds=3600 --detach"))
	server.Process.Kill()
	server.Wait()
	_, server = serveTasks(t, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"), file)
	k.words(exitOK, "tasks get "+url+" "+done, "Report on tea", "err:completed")
	k.words(exitOK, "tasks get "+url+" "+running, "working")
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
	k.run(exitUsage, []string{"serve", "demo", "--tasks", ""}, "err:--tasks must name a file")
	missing := filepath.Join(filepath.Dir(file), "missing")
	k.words(exitConnection, "serve demo --tasks "+filepath.Join(missing, "tasks.db"), "err:--tasks: ", "err:the folder does not exist")
	if _, err := os.Stat(missing); err == nil {
		t.Error("a folder was made")
	}
}

// At a terminal a call shows that the server of its task cannot be reached.
func TestCallShowsAnOutage(t *testing.T) {
	url, server := serveTasks(t, "127.0.0.1:0", filepath.Join(t.TempDir(), "tasks.db"))
	screen := ptytest.New(t)
	cmd := binary(t, "call", url, "slow_report", "topic=tea", "seconds=3600")
	atTerminal(t, cmd, screen.TTY)
	screen.Sees("Collecting figures")
	server.Process.Kill()
	server.Wait()
	screen.Sees("cannot reach the server, trying again")
	screen.Press("\x03")
	ends(t, cmd)
}

// --timeout bounds how long a call waits for the server of its task, whether that is
// gone or hangs.
func TestCallOfATaskEndsWithTheTimeout(t *testing.T) {
	for _, end := range []os.Signal{os.Kill, syscall.SIGSTOP} {
		t.Run(end.String(), func(t *testing.T) {
			url, server := serveTasks(t, "127.0.0.1:0", filepath.Join(t.TempDir(), "tasks.db"))
			screen := ptytest.New(t)
			cmd := binary(t, "call", url, "slow_report", "topic=tea", "seconds=3600", "--timeout", "1s")
			atTerminal(t, cmd, screen.TTY)
			screen.Sees("Collecting figures")
			if err := server.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			screen.Sees("from the server for 1s") // no state, or no response
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitConnection {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// tasks get says that the tool of a task failed as tenon call does.
func TestGetTaskOfAToolThatFailed(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	server.AddTool(s, "fail", "Fail", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", errors.New("out of paper")
	}, m.Tool(tasks.Required, nil))
	url := listening(t, s)
	k := newTasker(t)
	id := strings.TrimSpace(k.words(exitOK, "call "+url+" fail --detach"))
	k.words(exitTool, "tasks wait "+url+" "+id, "out of paper", "err:The tool failed:")
	k.words(exitTool, "tasks get "+url+" "+id, "out of paper", "err:The tool failed:")
	k.words(exitTool, "tasks get "+url+" "+id+" --format json", `"isError": true`)
}

// Replicas share their tasks: any of them knows a task, and when the one that
// runs it is stopped, another goes on.
func TestServedReplicasShareTasks(t *testing.T) {
	shared := redistest.Start(t, nil).URL
	k := newTasker(t)
	a, first := serveDemo(t, "--http", "127.0.0.1:0", "--redis", shared)
	b, _ := serveDemo(t, "--http", "127.0.0.1:0", "--redis", shared)
	id := strings.TrimSpace(k.words(exitOK, "call "+a+" slow_report topic=tea seconds=3 --detach"))
	k.words(exitOK, "tasks get "+b+" "+id, "working")
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	k.words(exitOK, "tasks wait "+b+" "+id, "Report on tea")
	k.run(exitUsage, []string{"serve", "demo", "--redis", shared}, "err:--redis and --cluster-… need --http")
	k.run(exitUsage, []string{"serve", "demo", "--http", "127.0.0.1:0", "--redis", shared, "--tasks", "x.db"}, "err:--tasks and --redis exclude each other")
}

// serveTasks starts tenon serve with tasks in a file.
func serveTasks(t *testing.T, address, file string) (url string, cmd *exec.Cmd) {
	t.Helper()
	return serveDemo(t, "--http", address, "--tasks", file)
}

// serveDemo starts tenon serve demo with flags.
func serveDemo(t *testing.T, flags ...string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = binary(t, append([]string{"serve", "demo"}, flags...)...)
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

// A host that is killed while a task runs goes on waiting for it when it starts
// again, and the conversation gets the result.
func TestKilledHostGoesOnWithTheTask(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	finish := make(chan struct{})
	server.AddTool(s, "report", "Report", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		select {
		case <-finish:
			return "all is well", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, m.Tool(tasks.Required, nil))
	model := said(t, `{"expect":{"role":"user"}}`, `{"call":{"name":"slow__report","arguments":{}}}`)
	first := binary(t, "chat", "--plain", "--allow", "slow", model)
	config := `{"mcpServers":{"slow":{"type":"http","url":"` + listening(t, s) + `"}}}`
	configure(t, first, config)
	first.Stdin = strings.NewReader("report\n")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(first.Dir, "config", "host", "tasks.json")
	eventually(t, func() bool {
		raw, _ := os.ReadFile(list)
		return strings.Contains(string(raw), `"working"`)
	})
	first.Process.Kill()
	first.Wait()
	close(finish)

	again := func(args ...string) *exec.Cmd {
		cmd := binary(t, append([]string{"chat", "--plain", "--model", "none"}, args...)...)
		cmd.Dir = first.Dir
		set(cmd, "TENON_CONFIG_DIR", filepath.Join(first.Dir, "config"))
		return cmd
	}
	second := again() // in another session
	in, err := second.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out lockedBuffer
	second.Stdout, second.Stderr = &out, &out
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer second.Process.Kill()
	eventually(t, func() bool {
		fmt.Fprintln(in, "/tasks") // the plain chat shows events after each line
		return strings.Contains(out.String(), "has ended. The conversation has its result.")
	})
	in.Close()
	second.Wait()
	file := filepath.Join(first.Dir, "talk.md")
	third := again("--resume", "last")
	third.Stdin = strings.NewReader("/save " + file + "\n")
	if code, out, errs := output(t, third); code != exitOK {
		t.Fatalf("%s\n%s", out, errs)
	}
	if raw, err := os.ReadFile(file); err != nil || !strings.Contains(string(raw), "all is well") || !strings.Contains(string(raw), "goes on in the background") {
		t.Errorf("%v\n%s\n%s", err, raw, out.String())
	}
}
