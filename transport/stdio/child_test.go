package stdio

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestChildCarriesMessages(t *testing.T) {
	c := mode(t, "echo")
	c.Grace = patience // it ends by itself: Close must not wait for the grace time
	child := start(t, c)
	for _, msg := range []string{`{"a":1}`, strings.Repeat("y", 1<<20), "ü"} {
		written := make(chan error, 1)
		go func() { written <- child.Stream().Write([]byte(msg + "\n")) }()
		if got := line(t, child); got != msg {
			t.Errorf("got %.40q, want %.40q", got, msg)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	if err := child.Close(); err != nil {
		t.Errorf("Close of a server that ends by itself: %v", err)
	}
	if _, err := child.Stream().Read(); err != io.EOF {
		t.Errorf("Read after Close: %v, want EOF", err)
	}
	if err := child.Stream().Write([]byte("x\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	tests := []struct {
		name string
		cmd  Command
		want string
	}{
		{"no path", Command{}, "the command has no path"},
		{"not found", Command{Path: "tenon-no-such-program"}, `start server "tenon-no-such-program": no such program in PATH`},
		{"arguments in the path", Command{Path: "tenon-no-such-program --stdio"}, `"tenon-no-such-program --stdio": no such program in PATH; give its arguments separately`},
		{"no such directory", Command{Path: os.Args[0], Dir: "no/such/dir"}, "no/such/dir"},
		{"bad variable", Command{Path: os.Args[0], Env: map[string]string{"A=B": ""}}, `"A=B" is not usable`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.cmd.Start()
			if err == nil {
				t.Fatal("started")
			}
			contains(t, err.Error(), tt.want)
		})
	}
}

func TestCrashIsExplained(t *testing.T) {
	child := start(t, mode(t, "crash"))
	within(t, child.Done(), "the end of the server")
	var exit *ExitError
	if !errors.As(child.Err(), &exit) {
		t.Fatalf("Err: %v", child.Err())
	}
	if exit.Code != 3 || exit.Signal != nil || exit.Forced {
		t.Errorf("got %+v", exit)
	}
	contains(t, exit.Error(), "exited with code 3; last lines of its stderr:\nno [31mconfig[0m file\nbad byte \uFFFD")
	if _, err := child.Stream().Read(); !errors.As(err, &exit) {
		t.Errorf("Read does not say how the server ended: %v", err)
	}
	if err := child.Stream().Write([]byte("x\n")); !errors.As(err, &exit) {
		t.Errorf("Write does not say how the server ended: %v", err)
	}
	if !errors.As(child.Close(), &exit) {
		t.Error("Close does not say how the server ended")
	}
}

// Hostile row C60: the server does not read while much is sent.
func TestDeafServer(t *testing.T) {
	child := start(t, mode(t, "deaf"))
	if got := line(t, child); got != "ready" {
		t.Fatal(got)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := child.Stream().Write(append(make([]byte, 10<<20), '\n')); err == nil {
			t.Error("10 MiB went into a pipe that nobody reads")
		}
	})
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		if _, err := child.Stream().Read(); err != io.EOF {
			t.Errorf("Read: %v, want EOF", err)
		}
	}()
	if err := child.Close(); err == nil {
		t.Error("Close does not say that it had to use force")
	}
	writing.Wait()
	within(t, reading, "the end of Read")
}

// What a server writes while it ends must not hold it up.
func TestCloseDrains(t *testing.T) {
	c := mode(t, "flood")
	c.Grace = patience
	child := start(t, c)
	if err := child.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A Read that waits must end when Close begins, not when the server has ended.
func TestCloseEndsReadAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes have no deadlines on Windows")
	}
	c := mode(t, "stubborn")
	c.Grace = patience
	child := start(t, c)
	line(t, child)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = child.Stream().Read()
	}()
	eventually(t, "Read to wait", func() bool {
		free := child.reading.TryLock()
		if free {
			child.reading.Unlock()
		}
		return !free
	})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = child.Close()
	}()
	within(t, read, "the end of Read")
	select {
	case <-child.Done():
		t.Error("the server was not stubborn")
	default:
	}
	child.group.kill()
	within(t, closed, "the end of Close")
}

func TestCloseTwiceAtOnce(t *testing.T) {
	c := mode(t, "echo")
	c.Grace = patience // it ends by itself, once it has started
	child := start(t, c)
	var closing sync.WaitGroup
	for range 4 {
		closing.Go(func() {
			if err := child.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
}

func TestStderrLines(t *testing.T) {
	c := mode(t, "chatter")
	var lines []string
	c.Stderr = func(line string) { lines = append(lines, line) } // one goroutine, ended by Close
	c.Grace = patience
	child := start(t, c)
	line(t, child)
	if err := child.Close(); err != nil {
		t.Fatal(err)
	}
	if got := len(strings.Join(lines, "")); got != 1<<20+len("last but one")+len("last") {
		t.Errorf("%d bytes were delivered", got)
	}
	for _, l := range lines {
		if len(l) > maxStderrLine {
			t.Errorf("a line of %d bytes was delivered", len(l))
		}
	}
	if n := len(lines); n < 3 || lines[n-2] != "last but one" || lines[n-1] != "last" {
		t.Errorf("the last lines are not the last lines")
	}
	if kept := child.Stderr(); len(kept) != maxStderr || !strings.HasSuffix(kept, "x\r\nlast but one\nlast") {
		t.Errorf("%d bytes are kept, ending in %q", len(kept), kept[len(kept)-20:])
	}
}

// Noise on stdout is a frame like any other here; the layer above passes over it.
func TestNoiseOnStdout(t *testing.T) {
	child := start(t, mode(t, "noise"))
	if got := line(t, child); got != "Server listening on stdio" {
		t.Error(got)
	}
	if got := line(t, child); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(got)
	}
}

func TestEnvironmentOfChild(t *testing.T) {
	t.Setenv("TENON_TEST_SECRET", "s3cret")
	t.Setenv("TENON_TEST_WANTED", "yes")
	c := mode(t, "environment")
	c.InheritEnv = []string{"TENON_TEST_WANT*"}
	c.Env["EXTRA"] = "1"
	child := start(t, c)
	var all []string
	for {
		frame, err := child.Stream().Read()
		if err != nil {
			break
		}
		all = append(all, string(frame))
	}
	got := strings.Join(all, "\n")
	contains(t, got, "PATH=", "TENON_TEST_WANTED=yes", "EXTRA=1")
	if strings.Contains(got, "s3cret") {
		t.Errorf("a secret was passed on:\n%s", got)
	}
}

func TestErrBeforeTheEnd(t *testing.T) {
	child := start(t, mode(t, "echo"))
	if err := child.Err(); err != nil {
		t.Errorf("Err of a running server: %v", err)
	}
	if child.Pid() <= 0 {
		t.Errorf("Pid: %d", child.Pid())
	}
}

// A slow reader still gets everything that a dead server wrote.
func TestOutputOutlivesServer(t *testing.T) {
	child := start(t, mode(t, "environment"))
	within(t, child.Done(), "the end of the server")
	n := 0
	for {
		if _, err := child.Stream().Read(); err != nil {
			break
		}
		n++
	}
	if n < 2 {
		t.Errorf("%d lines were read", n)
	}
	var exit *ExitError
	if !errors.As(child.Err(), &exit) || exit.Code != 0 {
		t.Errorf("a server that ends unasked is an error, also with code 0; got %v", child.Err())
	}
}

func TestDefaultGrace(t *testing.T) {
	c := mode(t, "echo")
	c.Grace = 0
	if child := start(t, c); child.grace != 2*time.Second {
		t.Errorf("grace is %v", child.grace)
	}
}
