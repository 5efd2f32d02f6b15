package taskstore_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

// A restart keeps what has ended, and what was interrupted is failed at once.
func TestRestart(t *testing.T) {
	file := t.TempDir() + "/tasks.db"
	p := tasktest.NewPeer(t)
	s := tasktest.Start(t, "serve", file, "TASKTEST_TTL=1h")
	done, err := p.Create(s.URL, "ada", "work", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	ended := p.Until(t, s.URL, "ada", done.ID, tasktest.Final)
	working, err := p.Create(s.URL, "ada", "work", 3600_000, "")
	if err != nil {
		t.Fatal(err)
	}
	asking, err := p.Create(s.URL, "ada", "ask", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Until(t, s.URL, "ada", asking.ID, func(t *tasks.Task) bool { return t.Status == tasks.InputRequired })
	if err := p.Answer(s.URL, "ada", asking.ID, "k1", "x"); err != nil {
		t.Fatal(err)
	}
	s.Kill()

	s = tasktest.Start(t, "serve", file, "TASKTEST_TTL=1h")
	defer s.Kill()
	if got, err := p.Get(s.URL, "ada", done.ID); err != nil || got.Status != tasks.Completed || string(got.Result) != string(ended.Result) {
		t.Errorf("the task that had ended: %+v, %v", got, err)
	}
	for _, id := range []string{working.ID, asking.ID} {
		got, err := p.Get(s.URL, "ada", id)
		if err != nil || got.Status != tasks.Failed || got.StatusMessage != "the server stopped while it was running the task" || got.Error == nil || got.InputRequests != nil {
			t.Errorf("a task that was interrupted, at the first look: %+v, %v", got, err)
		}
	}
	if _, err := p.Get(s.URL, "bob", done.ID); err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Errorf("a task of another: %v", err)
	}
	after, err := p.Create(s.URL, "ada", "ask", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k1", "k2"} {
		p.Until(t, s.URL, "ada", after.ID, func(t *tasks.Task) bool { _, ok := t.InputRequests[key]; return ok })
		if err := p.Answer(s.URL, "ada", after.ID, key, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Until(t, s.URL, "ada", after.ID, tasktest.Final); !strings.Contains(string(got.Result), "heard k1 k2") {
		t.Errorf("%+v %s", got, got.Result)
	}
}

// One process can answer, cancel and watch what another runs.
func TestRequestsReachTheProcessThatRuns(t *testing.T) {
	file := t.TempDir() + "/tasks.db"
	p := tasktest.NewPeer(t)
	a, b := tasktest.Start(t, "serve", file, "TASKTEST_TTL=1h"), tasktest.Start(t, "serve", file, "TASKTEST_TTL=1h")
	task, err := p.Create(a.URL, "ada", "ask", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k1", "k2"} {
		p.Until(t, b.URL, "ada", task.ID, func(t *tasks.Task) bool { _, ok := t.InputRequests[key]; return ok })
		if err := p.Answer(b.URL, "ada", task.ID, key, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Until(t, b.URL, "ada", task.ID, tasktest.Final); !strings.Contains(string(got.Result), "heard k1 k2") {
		t.Errorf("%+v %s", got, got.Result)
	}
	if task, err = p.Create(a.URL, "ada", "work", 3600_000, ""); err != nil {
		t.Fatal(err)
	}
	if err := p.Cancel(b.URL, "ada", task.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Get(a.URL, "ada", task.ID); err != nil || got.Status != tasks.Cancelled {
		t.Errorf("%+v, %v", got, err)
	}
	a.Stop(t) // which would wait for the tool, had it not been cancelled
	b.Stop(t)
}
