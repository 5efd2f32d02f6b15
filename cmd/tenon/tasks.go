package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/tasklist"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) tasksCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tasks",
		Short: "List tasks that run in the background, and get their results",
		Long: `A server may run a tool call as a task, whose result is fetched later. tenon call
--detach leaves such a task running, and a host can put one into the background.

Servers do not list tasks, so tenon remembers those that you started, until they
expire. If ID is left out, it is the only task of the server that is remembered
and has not ended.`,
		Example: `  tenon call https://example.com/mcp slow_report topic=tea --detach
  tenon tasks list
  tenon tasks wait https://example.com/mcp`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.tasksListCommand(), p.tasksGetCommand(), p.tasksCancelCommand(), p.tasksWaitCommand())
	return c
}

func (p *program) tasksListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the tasks that you started, or ask a server about its own",
		Long: `List the tasks that you left running, with the last known state. With SERVER, get
the present state of its tasks from the server.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && p.current == nil {
				out, err := p.printer()
				if err != nil {
					return err
				}
				return p.listTasks(out, "")
			}
			return p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
				if len(rest) > 0 {
					return usagef("unexpected argument %q", rest[0])
				}
				if err := p.refreshTasks(ctx, s); err != nil {
					return err
				}
				return p.listTasks(out, p.targetName(s))
			})(cmd, args)
		},
	}
}

func (p *program) tasksGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get SERVER [ID]",
		Short: "Show the state of a task, and its result if there is one",
		Long: `Show the state of a task, and its result if there is one. The exit code is 1 if the
tool failed or the task was cancelled, and 3 if the task failed with an error.`,
		RunE: p.withTask(func(ctx context.Context, s *session, out *show.Printer, h *tasks.Handle) error {
			return p.printTask(ctx, s, out, h)
		}),
	}
}

func (p *program) tasksCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel SERVER [ID]",
		Short: "Cancel a task",
		RunE: p.withTask(func(ctx context.Context, s *session, out *show.Printer, h *tasks.Handle) error {
			if t := h.Task(); t.Status.Final() {
				p.note("Task %s has already ended.", t.ID)
				return p.printTask(ctx, s, out, h)
			}
			if err := h.Cancel(ctx); err != nil {
				return err
			}
			if _, err := h.Get(ctx); err != nil {
				return err
			}
			err := p.printTask(ctx, s, out, h)
			if h.Task().Status == tasks.Cancelled && errors.Is(err, errFound) {
				return nil // as was asked for
			}
			return err
		}),
	}
}

func (p *program) tasksWaitCommand() *cobra.Command {
	var save string
	c := &cobra.Command{
		Use:   "wait SERVER [ID]",
		Short: "Wait for a task, answer its questions, and print the result",
		Long: `Wait for a task and print the result, as tenon call does. If the task asks a
question, you are asked, or --answer or --decline answers it. Ctrl-C stops
waiting; the task goes on.`,
		RunE: p.withTask(func(ctx context.Context, s *session, out *show.Printer, h *tasks.Handle) error {
			bar := p.progress()
			r, err := h.Wait(p.observe(ctx, bar))
			bar.done()
			p.keepTask(s, h)
			if ctx.Err() != nil {
				p.note("Stopped waiting. The task goes on: tenon tasks wait %s %s", p.targetName(s), h.ID())
			}
			return p.printResult(out, r, p.unanswered(h, err), save)
		}),
	}
	saveFlag(c, &save)
	return c
}

// unanswered replaces the error of a wait that ended because nothing can answer
// the question of the task.
func (p *program) unanswered(h *tasks.Handle, err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	if t := h.Task(); ok && e.Local && t.Status == tasks.InputRequired && !p.canAnswer() {
		return &openQuestion{requests: t.InputRequests}
	}
	return err
}

// An openQuestion is the error of a wait for a task that asks a question, if there
// is neither a terminal nor --answer nor --decline. Its exit code is that of a
// call with such a question.
type openQuestion struct{ requests map[string]mcp.InputRequest }

func (e *openQuestion) Error() string {
	var asks []string
	for _, key := range slices.Sorted(maps.Keys(e.requests)) {
		var q struct {
			Message         string `json:"message"`
			RequestedSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"requestedSchema"`
		}
		if mcp.Unmarshal(e.requests[key].Params, &q) != nil || q.Message == "" {
			q.Message = e.requests[key].Method
		}
		text := strconv.Quote(q.Message)
		if fields := slices.Sorted(maps.Keys(q.RequestedSchema.Properties)); len(fields) > 0 {
			text += " (fields: " + strings.Join(fields, ", ") + ")"
		}
		asks = append(asks, text)
	}
	return "the task asks " + strings.Join(asks, " and ") + ". Answer with --answer FIELD=VALUE, decline with --decline, or run the command at a terminal"
}

// withTask connects to the server and gets the state of the task on the command
// line.
func (p *program) withTask(do func(ctx context.Context, s *session, out *show.Printer, h *tasks.Handle) error) func(*cobra.Command, []string) error {
	return p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
		if len(rest) > 1 {
			return usagef("unexpected argument %q", rest[1])
		}
		record, err := p.findTask(p.targetName(s), rest)
		if err != nil {
			return err
		}
		h, err := tasks.Resume(ctx, s.Client, record.ID, record.Tool, &client.CallOptions{})
		if err != nil {
			return err
		}
		p.keepTask(s, h)
		return do(ctx, s, out, h)
	})
}

// findTask returns the record of a task by its id, or of the only one of a server
// that runs. A task that is not remembered has no tool.
func (p *program) findTask(server string, rest []string) (tasklist.Record, error) {
	list, err := p.taskList()
	if err != nil {
		return tasklist.Record{}, err
	}
	all, err := list.All()
	var running []tasklist.Record
	for _, r := range all {
		switch {
		case r.Server != server:
		case len(rest) == 1 && r.ID == rest[0]:
			return r, nil
		case r.Running():
			running = append(running, r)
		}
	}
	switch {
	case len(rest) == 1:
		return tasklist.Record{Server: server, ID: rest[0]}, nil
	case err != nil:
		return tasklist.Record{}, err
	case len(running) == 1:
		return running[0], nil
	case len(running) == 0:
		return tasklist.Record{}, usagef("missing ID: no running task of %s is remembered", server)
	}
	var ids []string
	for _, r := range running {
		ids = append(ids, "\n  "+r.ID+"  "+r.Tool)
	}
	return tasklist.Record{}, usagef("missing ID: %d tasks of %s are running:%s", len(running), server, strings.Join(ids, ""))
}

// taskList returns the list of tasks in the host's folder.
func (p *program) taskList() (tasklist.List, error) {
	dir, err := p.hostDir("")
	return workspace.TaskList(dir), err
}

// targetName returns the server of a session as it is written on a command line,
// without secrets.
func (p *program) targetName(s *session) string {
	e := s.server.Entry()
	switch {
	case e.Source.File != "":
		return e.Name
	case e.URL != "":
		return p.secrets.Text(e.URL)
	case e.Kind == config.Builtin:
		if q := e.Query.Encode(); q != "" {
			return p.secrets.Text("builtin:" + e.Builtin + "?" + q)
		}
		return "builtin:" + e.Builtin
	}
	return p.secrets.Text("-- " + e.CommandLine())
}

// taskIDs returns the remembered tasks of a server, for completion.
func (p *program) taskIDs(server string) (ids []string) {
	list, err := p.taskList()
	if err != nil {
		return nil
	}
	all, _ := list.All() // nothing to offer
	for _, r := range all {
		if r.Server == server {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// detach calls a tool and leaves the task that it becomes running.
func (p *program) detach(ctx context.Context, s *session, out *show.Printer, tool string, args json.RawMessage, force bool, save string) error {
	if e := s.server.Entry(); !force && !s.shared && (e.Kind == config.Stdio || e.Kind == config.Builtin) {
		return usagef("--detach: %s ends with this command, and its tasks with it. Use a server that goes on, such as one over HTTP; or leave out --detach and wait; or add --force, if the server keeps its tasks elsewhere", e.Name)
	}
	bar := p.progress()
	h, err := tasks.Start(ctx, s.Client, tool, args, &client.CallOptions{Progress: bar.show})
	bar.done()
	if err != nil {
		return err
	}
	if h.ID() == "" {
		p.note("There is no task: the server returned the result itself.")
		r, err := h.Wait(ctx)
		return p.printResult(out, r, err, save)
	}
	target, t := p.targetName(s), h.Task()
	list, err := p.taskList()
	if err == nil {
		err = list.Put(newRecord(target, tool, t))
	}
	if err != nil {
		p.note("warning: tenon tasks list will not have this task: %v", err)
	}
	if out.Format != show.Text {
		return out.Value(map[string]any{"server": target, "tool": tool, "task": t})
	}
	fmt.Fprintln(p.out, visible.Line(t.ID))
	p.note("The call goes on as a task. Wait for its result with:\n  tenon tasks wait %s", taskWords(target, t.ID))
	return nil
}

// taskWords returns the arguments of tenon tasks wait for a task.
func taskWords(target, id string) string {
	if strings.HasPrefix(target, "-- ") {
		return id + " " + target
	}
	return target + " " + id
}

func newRecord(server, tool string, t tasks.Task) tasklist.Record {
	r := tasklist.Record{Server: server, ID: t.ID, Tool: tool, Started: time.Now()}
	setState(&r, t)
	return r
}

// setState sets the last known state of a task.
func setState(r *tasklist.Record, t tasks.Task) {
	r.Status, r.Message, r.Checked = string(t.Status), t.StatusMessage, time.Now()
	if t.TTL > 0 {
		created := t.CreatedAt
		if created.IsZero() || created.After(r.Checked) { // the clock of the server differs
			created = r.Started
		}
		r.Expires = created.Add(t.TTL)
	}
}

// keepTask stores the state of a task, if it is in the list.
func (p *program) keepTask(s *session, h *tasks.Handle) {
	list, err := p.taskList()
	if err == nil {
		err = list.Change(p.targetName(s), h.ID(), func(r *tasklist.Record) { setState(r, h.Task()) })
	}
	if err != nil {
		p.note("warning: %v", err)
	}
}

// refreshTasks gets the states of the tasks of a server that had not ended. A task
// that the server does not know is removed.
func (p *program) refreshTasks(ctx context.Context, s *session) error {
	list, err := p.taskList()
	if err != nil {
		return err
	}
	all, err := list.All()
	if err != nil {
		return err
	}
	target := p.targetName(s)
	for _, r := range all {
		if r.Server != target || !r.Running() {
			continue
		}
		h, err := tasks.Resume(ctx, s.Client, r.ID, r.Tool, nil)
		switch {
		case err == nil:
			p.keepTask(s, h)
		case tasks.IsUnknown(err):
			p.note("%s no longer has task %s (%s).", target, r.ID, r.Tool)
			if err := list.Remove(target, r.ID); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// listTasks prints the remembered tasks, of one server if it is not empty.
func (p *program) listTasks(out *show.Printer, server string) error {
	list, err := p.taskList()
	if err != nil {
		return err
	}
	all, err := list.All()
	if err != nil {
		return err
	}
	shown := []tasklist.Record{}
	for _, r := range all {
		if server == "" || r.Server == server {
			r.Call = nil // for the host
			shown = append(shown, r)
		}
	}
	switch out.Format {
	case show.JSONL:
		for _, r := range shown {
			if err := out.Value(r); err != nil {
				return err
			}
		}
		return nil
	case show.Text:
	default:
		return out.Value(map[string]any{"tasks": shown})
	}
	var rows [][]string
	for _, r := range shown {
		status := statusText(r.Status)
		if r.Message != "" {
			status += ": " + r.Message
		}
		rows = append(rows, []string{r.ID, r.Server, r.Tool, status, clockTime(r.Started), clockTime(r.Expires)})
	}
	return out.Table([]string{"ID", "SERVER", "TOOL", "STATUS", "STARTED", "EXPIRES"}, rows, "no tasks")
}

// printTask prints the state of a task, with its result or error, and returns the
// error that stands for its outcome.
func (p *program) printTask(ctx context.Context, s *session, out *show.Printer, h *tasks.Handle) error {
	p.keepTask(s, h)
	t := h.Task()
	if out.Format != show.Text {
		if err := out.Value(t); err != nil {
			return err
		}
		return outcome(t)
	}
	line := statusText(string(t.Status))
	if t.StatusMessage != "" {
		line += ": " + t.StatusMessage
	}
	switch {
	case t.Status == tasks.Completed:
		p.note("%s", line)
		r, err := h.Wait(ctx)
		return p.printResult(out, r, err, "")
	case t.Status == tasks.InputRequired:
		line += fmt.Sprintf(" (answer with: tenon tasks wait %s)", taskWords(p.targetName(s), t.ID))
	case t.Error != nil && t.StatusMessage == "":
		line += ": " + t.Error.Message
	}
	fmt.Fprintln(p.out, visible.Line(line))
	return outcome(t)
}

// outcome returns the error for the exit code of a task whose state was printed.
func outcome(t tasks.Task) error {
	var result struct {
		IsError bool `json:"isError"`
	}
	switch {
	case t.Status == tasks.Failed:
		return exitWith(exitProtocol)
	case t.Status == tasks.Cancelled, t.Result != nil && mcp.Unmarshal(t.Result, &result) == nil && result.IsError:
		return errFound
	}
	return nil
}

// statusText is the status of a task for people.
func statusText(status string) string {
	if status == string(tasks.InputRequired) {
		return "waiting for an answer"
	}
	return status
}

// clockTime formats a time for a table; the zero time is empty.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}
