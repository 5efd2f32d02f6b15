//go:build unix

package redistasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

// A process that stands still for longer than its lease has lost its tasks: those
// that must not be repeated have failed, and the others are done by another. When
// it goes on, nothing changes, and no effect happens twice that must not.
func TestStoppedProcessLosesItsTasks(t *testing.T) {
	url, journal := redistest.Start(t, nil).URL, filepath.Join(t.TempDir(), "journal")
	p := tasktest.NewPeer(t)
	start := func() *tasktest.Process {
		return tasktest.Start(t, "serve", url, tasktest.TTLVar+"=1h", tasktest.LeaseVar+"=1s", tasktest.JournalVar+"="+journal)
	}
	a, b := start(), start()
	once, err := p.Create(a.URL, "ada", "work", 2000, "x")
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Create(a.URL, "ada", "again", 2000, "y")
	if err != nil {
		t.Fatal(err)
	}
	a.Cmd.Process.Signal(syscall.SIGSTOP)
	failed := p.Until(t, b.URL, "ada", once.ID, tasktest.Final)
	done := p.Until(t, b.URL, "ada", again.ID, tasktest.Final)
	if failed.Status != tasks.Failed || done.Status != tasks.Completed {
		t.Errorf("%+v, %+v", failed, done)
	}
	a.Cmd.Process.Signal(syscall.SIGCONT)
	for _, want := range []*tasks.Task{failed, done} {
		if got, err := p.Get(a.URL, "ada", want.ID); err != nil || got.Status != want.Status || string(got.Result) != string(want.Result) {
			t.Errorf("after the process goes on: %+v, %v; want %+v", got, err, want)
		}
	}
	a.Stop(t) // waits for its tools
	b.Stop(t)
	effects, err := os.ReadFile(journal)
	if err != nil || strings.Count(string(effects), "work x\n") > 1 || !strings.Contains(string(effects), "again y\n") {
		t.Errorf("the effects are %q, %v", effects, err)
	}
}
