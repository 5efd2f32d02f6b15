// Package tasktest tests servers with tasks as processes that are killed. It is
// imported by tests only.
package tasktest

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// HangGuard is how long something may take that never does. It is not a measure.
const HangGuard = time.Minute

// What a process does, and where the store is, are in its environment.
const (
	modeVar   = "TASKTEST_MODE"
	targetVar = "TASKTEST_TARGET"
)

// Mode returns what this process is started for by [Start], and where the store
// is; "" if it is the test itself.
func Mode() (mode, target string) { return os.Getenv(modeVar), os.Getenv(targetVar) }

// A Process is another process of a test.
type Process struct {
	Cmd *exec.Cmd
	// URL is that of a server.
	URL string

	stderr bytes.Buffer
	stdin  io.Closer
	ended  chan struct{} // closed when the process has ended
	dead   atomic.Bool   // it was killed
}

// Start starts a process of the test's program with a mode and a target, which
// [Mode] returns there, and further variables. If the mode is "serve", the
// process calls [Serve], and Start waits for its URL.
func Start(t *testing.T, mode, target string, env ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Cmd.Env = append(append(os.Environ(), modeVar+"="+mode, targetVar+"="+target), env...)
	p.Cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.Cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if mode != "serve" {
		if err := p.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.Cmd.Wait()
		t.Fatalf("the server does not start: %v: %s", err, p.stderr.String())
	}
	p.URL = strings.TrimSpace(line)
	return p
}

// Kill ends the process without a word.
func (p *Process) Kill() {
	p.Cmd.Process.Kill()
	p.Cmd.Wait()
	p.dead.Store(true)
	close(p.ended)
}

// Stop ends a server as its user does.
func (p *Process) Stop(t *testing.T) {
	p.stdin.Close()
	if err := p.Cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, p.stderr.String())
	}
	close(p.ended)
}

// Output returns what the process has written to its standard error, after its
// end.
func (p *Process) Output() string { return p.stderr.String() }

// killed reports whether Kill has ended the process.
func (p *Process) killed() bool { return p.dead.Load() }
