package term

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
)

// taskActions are what /tasks can do.
var taskActions = []string{"background", "wait", "cancel"}

// runTasks lists the tasks, or acts on one: /tasks [background|wait|cancel [id]].
func runTasks(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	if len(words) == 0 {
		return outcome{}, listTasks(t.w.Host.Tasks(), out)
	}
	if len(words) > 2 {
		return outcome{}, fmt.Errorf("unexpected argument %q", words[2])
	}
	action, id := words[0], ""
	if len(words) == 2 {
		id = words[1]
	}
	task, err := chooseTask(t.w.Host.Tasks(), action, id)
	if err != nil {
		return outcome{}, err
	}
	name := "Task " + line(task.ID) + " of " + line(task.Server) + "/" + line(task.Tool)
	switch action {
	case "background":
		if err := t.w.Host.BackgroundTask(task.Server, task.ID); err != nil {
			return outcome{}, err
		}
		return outcome{notes: []string{name + " goes on in the background. Its result is added to the conversation."}}, nil
	case "wait":
		return outcome{}, t.w.Host.WaitTask(ctx, task.Server, task.ID)
	case "cancel":
		return outcome{}, t.w.Host.CancelTask(ctx, task.Server, task.ID)
	}
	return outcome{}, fmt.Errorf("unknown action %q; use /tasks %s", action, strings.Join(taskActions, ", "))
}

func listTasks(all []host.Task, out *show.Printer) error {
	var rows [][]string
	for _, task := range all {
		rows = append(rows, []string{line(task.ID), line(task.Server) + "/" + line(task.Tool), taskText(&task.TaskState, task.Message), task.Started.Local().Format("15:04")})
	}
	return out.Table([]string{"ID", "TOOL", "STATUS", "STARTED"}, rows, "No tasks. A server may run a call that takes long as a task.")
}

// chooseTask returns the running task whose id begins with a text; without one,
// the only one that the action is possible for.
func chooseTask(all []host.Task, action, id string) (*host.Task, error) {
	var found []*host.Task
	for i := range all {
		task := &all[i]
		if task.Over || !strings.HasPrefix(task.ID, id) || id == "" && action == "background" && task.Background {
			continue
		}
		found = append(found, task)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%d tasks are running; write /tasks %s and the beginning of the id (/tasks lists them)", len(found), action)
	case id != "":
		return nil, fmt.Errorf("no running task %q; /tasks lists them", id)
	}
	return nil, errors.New("no task is running")
}

// taskText describes the state of a task.
func taskText(s *host.TaskState, message string) string {
	text := s.Status
	if text == "input_required" {
		text = "waiting for your answer"
	}
	if s.Background && (s.Status == "working" || s.Status == "input_required") {
		text += ", in the background"
	}
	if message != "" {
		text += ": " + line(message)
	}
	return text
}

// completeTask completes the arguments of /tasks.
func (t *talk) completeTask(word string) []choice {
	var all []choice
	for _, task := range t.w.Host.Tasks() {
		if !task.Over && strings.HasPrefix(task.ID, word) {
			all = append(all, choice{word: task.ID, about: task.Server + "/" + task.Tool})
		}
	}
	return all
}
