package peers

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

// A running is a server program that serves over HTTP.
type running struct {
	url    string // of its endpoint
	stderr steps.Collection[string]
	cmd    *exec.Cmd
	end    func() error
}

// start starts a server program and waits until it prints its URL. It ends with
// the test.
func start(t *testing.T, command ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(command[0], command[1:]...)}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	first := make(chan string, 1)
	reading.Go(func() { // ends with the process
		lines, found := bufio.NewScanner(stdout), false
		for lines.Scan() {
			_, url, announced := strings.Cut(lines.Text(), "Serving gateway at ")
			if !announced {
				url = lines.Text()
			}
			if !found && strings.HasPrefix(url, "http://") {
				found = true
				first <- url
			}
		}
		close(first)
	})
	reading.Go(func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			r.stderr.Add(lines.Text())
		}
	})
	r.end = sync.OnceValue(func() error {
		reading.Wait()
		return r.cmd.Wait()
	})
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.end()
		if t.Failed() {
			t.Logf("stderr of the server:\n%s", strings.Join(r.stderr.Wait(0), "\n"))
		}
	})
	select {
	case r.url = <-first:
	case <-time.After(time.Minute):
	}
	if r.url == "" {
		t.Fatal("the server did not say where it listens")
	}
	return r
}

// older is where the server speaks HTTP+SSE.
func (r *running) older() string { return strings.TrimSuffix(r.url, "/mcp") + "/sse" }

// patient waits for at least n items for as long as a busy machine may need:
// where nothing is meant to come, it is not the one to ask.
func patient[T any](c *steps.Collection[T], n int) (got []T) {
	for range 6 {
		if got = c.Wait(n); len(got) >= n {
			break
		}
	}
	return got
}

// says waits for a line on stderr.
func (r *running) says(line string) bool {
	for n := 1; ; n++ {
		got := patient(&r.stderr, n)
		if len(got) < n {
			return false
		}
		if strings.Contains(got[n-1], line) {
			return true
		}
	}
}

// interrupt tells the program to end, and checks that it ends well.
func (r *running) interrupt(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return // a program there cannot be told so by another
	}
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
		return
	}
	stop := time.AfterFunc(20*time.Second, func() { _ = r.cmd.Process.Kill() })
	defer stop.Stop()
	if err := r.end(); err != nil {
		t.Errorf("the server was interrupted and did not end well: %v", err)
	}
}
