package term

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
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
