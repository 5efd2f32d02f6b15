//go:build unix

package taskstore_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

// A process that stands still, for 20 seconds in the long form, has not ended:
// its task goes on and has one outcome.
func TestStoppedProcessGoesOn(t *testing.T) {
	still := time.Second
	if os.Getenv("TENON_TASK_CRASHES") != "" {
		still = 20 * time.Second
	}
	file := t.TempDir() + "/tasks.db"
	p := tasktest.NewPeer(t)
	a, b := tasktest.Start(t, "serve", file, "TASKTEST_TTL=1h"), tasktest.Start(t, "serve", file, "TASKTEST_TTL=1h")
	defer b.Stop(t)
	task, err := p.Create(a.URL, "ada", "work", 500, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(still)
	if got, err := p.Get(b.URL, "ada", task.ID); err != nil || got.Status != tasks.Working {
		t.Errorf("while its process stands still: %+v, %v", got, err)
	}
	if err := a.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := p.Until(t, b.URL, "ada", task.ID, tasktest.Final); got.Status != tasks.Completed {
		t.Errorf("at the end: %+v", got)
	}
	a.Stop(t)
}
