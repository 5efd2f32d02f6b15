package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/restart"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// playBrittle is an older server that ends when it hears a method it does not
// know before it was initialized.
func playBrittle() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch {
		case strings.Contains(in.Text(), `"initialize"`):
			fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"brittle","version":"1"}}}`)
		case strings.Contains(in.Text(), "server/discover"):
			fmt.Fprintln(os.Stderr, "unknown method, giving up")
			os.Exit(1)
		}
	}
}

func supervise(t *testing.T, c *Command) *Supervised {
	t.Helper()
	// No waiting between starts: what is tested is that there is a next one.
	c.Restart.FirstDelay = time.Millisecond
	s, err := Supervise(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSupervisedServerIsStartedAgain(t *testing.T) {
	c := mode(t, "mcp")
	ends := make(chan error, 9)
	c.Restart.OnEnd = func(err error, delay time.Duration) {
		if delay >= 0 {
			ends <- err
		}
	}
	s := supervise(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, err := s.Connection(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Serve(ctx, toolCall("fine")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Serve(ctx, toolCall("crash"))
	if err == nil || !strings.Contains(err.Error(), "code 7") || !strings.Contains(err.Error(), "out of ideas") {
		t.Errorf("the call that was lost says %v", err)
	}
	if _, err := s.Serve(ctx, toolCall("fine")); err != nil {
		t.Fatalf("after the restart: %v", err)
	}
	again, err := s.Connection(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if again.Child().Pid() == first.Child().Pid() {
		t.Error("it is still the same process")
	}
	if _, ok := errors.AsType[*ExitError](<-ends); !ok {
		t.Error("OnEnd was not called with how the process ended")
	}
}

func TestServerThatDiesOfTheProbeIsMet(t *testing.T) {
	s := supervise(t, mode(t, "brittle"))
	conn, err := s.Connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if conn.Revision() != mcp.Rev20250618 {
		t.Errorf("it speaks %s", conn.Revision())
	}
}

func TestServerThatNeverStartsIsAnErrorAtOnce(t *testing.T) {
	_, err := (&Command{Path: "no-such-program-anywhere"}).Dial(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Errorf("got %v", err)
	}
	_, err = mode(t, "crash").Dial(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "code 3") || !strings.Contains(err.Error(), "config") {
		t.Errorf("got %v", err)
	}
}

// The fields of a Command count for Dial as for Supervise, and a Command that
// is dialled twice has two backoffs.
func TestCommandSaysHowToConnectAndRestart(t *testing.T) {
	var ends []time.Duration
	var frames atomic.Int32
	c := mode(t, "crash")
	c.Era = era.DialOptions{Known: mcp.Rev20250618, Tap: func(jsonrpc.Direction, []byte) { frames.Add(1) }}
	c.Restart = RestartOptions{
		FirstDelay: time.Millisecond, Limit: 1,
		OnEnd: func(_ error, delay time.Duration) { ends = append(ends, delay) },
	}
	for range 2 {
		ends = nil
		if _, err := c.Dial(t.Context(), nil); err == nil {
			t.Fatal("no error")
		}
		// Dial closes what has failed, at times before OnEnd is called. It never
		// waits to start again: the limit is 1.
		if len(ends) > 1 || len(ends) == 1 && ends[0] >= 0 {
			t.Errorf("OnEnd was called with the delays %v", ends)
		}
	}
	if frames.Load() == 0 {
		t.Error("Era.Tap was not used")
	}
	c = mode(t, "mcp")
	c.Era.Known = mcp.Rev20250618
	conn, err := c.Dial(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if now, err := conn.(*Supervised).Connection(t.Context()); err != nil || now.Revision() != mcp.Rev20250618 {
		t.Errorf("connected with %v, %v", now.Revision(), err)
	}
}

func TestExistingCmdIsRun(t *testing.T) {
	from := mode(t, "environment")
	cmd := exec.Command(from.Path)
	cmd.Env = []string{modeVar + "=environment", "GOCOVERDIR=" + t.TempDir(), "ONLY=this"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	c := &Command{Cmd: cmd}
	for range 2 { // a copy is started each time
		child := start(t, c)
		var env []string
		for {
			frame, err := child.Stream().Read()
			if err != nil {
				break
			}
			env = append(env, string(frame))
		}
		if all := strings.Join(env, "\n"); !strings.Contains(all, "ONLY=this") || strings.Contains(all, "HOME=") {
			t.Errorf("the program has the environment\n%s", all)
		}
		_ = child.Close()
	}
	cmd.Env[0] = modeVar + "=crash"
	child := start(t, c)
	within(t, child.Done(), "the end of the program")
	_ = child.Close()
	if !strings.Contains(stderr.String(), "config") {
		t.Errorf("Cmd.Stderr got %q", stderr.String())
	}

	started := exec.Command(from.Path)
	started.Env = cmd.Env
	if err := started.Run(); err == nil {
		t.Error("crash did not")
	}
	for _, bad := range []struct {
		c    *Command
		want string
	}{
		{&Command{Cmd: started}, "started already"},
		{&Command{Cmd: &exec.Cmd{Path: from.Path, Stdin: strings.NewReader("")}}, "must be unset"},
		{&Command{Cmd: &exec.Cmd{Path: from.Path, Stdout: os.Stdout}}, "must be unset"},
		{&Command{Cmd: &exec.Cmd{Path: from.Path}, Args: []string{"x"}}, "either Cmd or"},
		{&Command{Cmd: exec.Command("no-such-program-anywhere")}, "no-such-program-anywhere"},
	} {
		if child, err := bad.c.Start(); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("got %v, %v; want %s", child, err, bad.want)
		}
	}
}

// playPatient ends when its input has ended and the file that it is told of is
// there, and says its process id on standard error.
func playPatient() {
	fmt.Fprintln(os.Stderr, os.Getpid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	for {
		if _, err := os.Stat(os.Getenv("TENON_STDIO_TEST_FILE")); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// L23: Dial returns when its context ends, before the process has, and the
// process is waited for.
func TestDialReturnsWhenItsContextEnds(t *testing.T) {
	for name, dial := range map[string]func(context.Context, *Command) error{
		"Dial":         func(ctx context.Context, c *Command) error { _, err := Dial(ctx, c, nil); return err },
		"Command.Dial": func(ctx context.Context, c *Command) error { _, err := c.Dial(ctx, nil); return err },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "go")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var pid int
			c := mode(t, "patient")
			c.Grace = patience // until then nothing but the file ends the process
			c.Env["TENON_STDIO_TEST_FILE"] = file
			ended := make(chan struct{})
			c.Stderr = func(line string) {
				pid, _ = strconv.Atoi(line)
				cancel()
			}
			err := dial(ctx, c)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if !running(pid) {
				t.Error("the process ended before Dial returned")
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			go func() {
				defer close(ended)
				for running(pid) {
					time.Sleep(5 * time.Millisecond)
				}
			}()
			within(t, ended, "the end of the process")
		})
	}
}

// A supervisor waits for a process that is still ending before Close returns.
func TestSupervisorWaitsForWhatIsEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		r := restart.New(func(ctx context.Context) (*Child, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("wrapped: %w", &endingError{ctx.Err(), &Child{done: ended}})
		}, nil)
		go r.Get(t.Context())
		synctest.Wait()
		closed := make(chan struct{})
		go func() { r.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait")
		default:
		}
		close(ended)
		<-closed
	})
}
