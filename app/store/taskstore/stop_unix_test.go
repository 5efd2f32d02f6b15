//go:build unix

package taskstore_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
)

// A process that stands still, for 20 seconds in the long form, has not ended:
// its task goes on and has one outcome.
func TestStoppedProcessGoesOn(t *testing.T) {
	still := time.Second
	if os.Getenv("TENON_TASK_CRASHES") != "" {
		still = 20 * time.Second
	}
	file := t.TempDir() + "/tasks.db"
	p := newPeer(t)
	a, b := start(t, "serve", file, "TASKSTORE_TTL=1h"), start(t, "serve", file, "TASKSTORE_TTL=1h")
	defer b.stop(t)
	task, err := p.create(a.url, "ada", "work", 500)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(still)
	if got, err := p.get(b.url, "ada", task.ID); err != nil || got.Status != tasks.Working {
		t.Errorf("while its process stands still: %+v, %v", got, err)
	}
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := p.until(t, b.url, "ada", task.ID, final); got.Status != tasks.Completed {
		t.Errorf("at the end: %+v", got)
	}
	a.stop(t)
}
