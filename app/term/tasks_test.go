package term

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestTaskList(t *testing.T) {
	running := host.Task{TaskState: host.TaskState{ID: "abc1", Status: "working"}, Server: "s", Tool: "report", Message: "col\x1blecting"}
	asking := host.Task{TaskState: host.TaskState{ID: "abd2", Status: "input_required", Background: true}, Server: "s", Tool: "report"}
	ended := host.Task{TaskState: host.TaskState{ID: "abe3", Status: "completed"}, Server: "s", Tool: "report", Over: true}
	all := []host.Task{running, asking, ended}
	var b strings.Builder
	if err := listTasks(all, &show.Printer{W: &b, Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"abc1", "s/report", "waiting for your answer, in the background", "completed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
	for _, c := range []struct{ action, id, want, fails string }{
		{"background", "", "abc1", ""},
		{"cancel", "abd", "abd2", ""},
		{"cancel", "", "", "2 tasks are running"},
		{"wait", "abe3", "", "no running task"},
	} {
		task, err := chooseTask(all, c.action, c.id)
		if c.fails == "" && (err != nil || task.ID != c.want) || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s %q: %+v %v", c.action, c.id, task, err)
		}
	}
	if _, err := chooseTask(nil, "cancel", ""); err == nil {
		t.Error("there is none")
	}
}

// A task is put into the background while its turn runs; its result reaches the
// conversation, and another one is cancelled.
func TestTasksOnTheScreen(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "kettle", Version: "1"}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	server.AddTool(s, "brew", "Brew tea", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 0, "heating the water")
		select {
		case <-ready:
			return "the tea is ready", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, m.Tool(tasks.Required, &server.ToolOptions{Annotations: server.ReadOnly()}))
	d := drive(t, nil, map[string]*server.Server{"kettle": s}, nil)
	enter := func(line string) { d.types(line); d.press("enter") }
	enter("/call kettle/brew")
	d.answer("Allow for this session")
	d.shows("task working: heating the water")
	enter("/tasks background")
	d.shows("task working, in the background: heating the water")
	d.until("the call has returned", func() bool { return !d.s.t.busy() })
	enter("/call kettle/brew")
	d.until("two tasks", func() bool { return len(d.w.Host.Tasks()) == 2 })
	enter("/tasks cancel " + d.w.Host.Tasks()[1].ID[:10])
	d.shows("◌ kettle/brew")
	close(ready)
	d.shows("has ended. The conversation has")
	d.shows("✓ kettle/brew")
	enter("/tasks")
	d.shows("completed")
	enter("/tasks wait nosuch")
	d.shows(`no running task "nosuch"`)
}
