package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) callCommand() *cobra.Command {
	var asJSON, save string
	var detach, force bool
	c := &cobra.Command{
		Use:   "call SERVER TOOL [name=value …]",
		Short: "Call a tool",
		Long: `Call a tool. Arguments are name=value; the tool's schema decides whether a value
is text, a number, a list and so on. Use name:=JSON for any JSON value,
name.inner=value for a member of an object, name=@file for the contents of a
file, or --json for all arguments at once.

The result goes to standard output, progress and questions to standard error. If
the tool fails, the exit code is 1.

A server may run the call as a task. Then its status is shown as progress, and
Ctrl-C cancels the task. With --detach the command ends as soon as there is a
task, and prints its id; tenon tasks goes on from there. A server that is a
program or builtin ends with the command, and its tasks with it, so --detach is
refused for it; use --force if the server keeps its tasks elsewhere.`,
		Example: `  tenon call builtin:calc add a=20 b=22
  echo '{"a":20,"b":22}' | tenon call builtin:calc add --json -
  tenon call 'builtin:fs?root=.' read_text_file path=README.md head=5
  tenon call echo message=hi -- npx -y @modelcontextprotocol/server-everything
  tenon call https://example.com/mcp slow_report topic=tea --detach`,
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) == 0 {
				return usagef("missing TOOL; tenon tools SERVER lists the tools")
			}
			if detach && len(p.answers) > 0 {
				return usagef("--answer does not work with --detach, which does not wait for questions: give --answer to tenon tasks wait")
			}
			arguments, err := p.arguments(ctx, s, rest[0], rest[1:], asJSON)
			if err != nil {
				return err
			}
			if detach {
				return p.detach(ctx, s, out, rest[0], arguments, force, save)
			}
			bar := p.progress()
			r, err := s.CallTool(p.observe(ctx, bar), rest[0], arguments, &client.CallOptions{Progress: bar.show})
			bar.done()
			if id := bar.taskID(); id != "" && ctx.Err() != nil {
				p.note("Cancelled task %s.", id)
			}
			return p.printResult(out, r, err, save)
		}),
	}
	c.Flags().StringVar(&asJSON, "json", "", "all arguments as one JSON `object`, @FILE, or - for standard input")
	saveFlag(c, &save)
	c.Flags().BoolVar(&detach, "detach", false, "do not wait for a call that runs as a task: print the id of the task")
	c.Flags().BoolVar(&force, "force", false, "use --detach although the server ends with this command")
	return c
}

// observe returns the context of a call that may become a task: a bar shows its
// status, and --timeout bounds how long its server may be away.
func (p *program) observe(ctx context.Context, b *bar) context.Context {
	if p.timeout > 0 {
		ctx = tasks.WithMaxOutage(ctx, p.timeout)
	}
	return tasks.Observe(ctx, b.status)
}

func saveFlag(c *cobra.Command, save *string) {
	c.Flags().StringVar(save, "save", "", "save images, audio and other binary content of the result in this `folder`")
}

// printResult prints the result of a tool, and returns errFound if the tool failed.
func (p *program) printResult(out *show.Printer, r *mcp.CallToolResult, err error, save string) error {
	if err != nil {
		return err
	}
	if save != "" {
		if err := saveContents(save, r, func(file string) { p.note("Saved %s", file) }); err != nil {
			return err
		}
	}
	if r.IsError && out.Plain && out.Format == show.Text {
		p.note("The tool failed:")
	}
	if err := out.Result(r); err != nil {
		return err
	}
	if r.IsError {
		return errFound
	}
	return nil
}

// arguments returns the arguments of a tool call. It requests the list of tools
// only if name=value arguments need a schema.
func (p *program) arguments(ctx context.Context, s *session, tool string, words []string, asJSON string) (json.RawMessage, error) {
	if asJSON != "" {
		if len(words) > 0 {
			return nil, usagef("use --json or name=value arguments, not both")
		}
		return p.document("--json", asJSON)
	}
	if len(words) == 1 && (words[0] == "-" || strings.HasPrefix(words[0], "@") || strings.HasPrefix(words[0], "{")) {
		return p.document("the arguments", words[0])
	}
	var schema json.RawMessage
	tools, err := client.All(s.Tools(ctx))
	if err != nil {
		return nil, err
	}
	t, err := find(tools, tool, func(t *mcp.Tool) string { return t.Name }, "tool")
	if err != nil {
		return nil, err
	}
	schema = t.InputSchema
	object, err := args.Parse(schema, words)
	return object, usage(err)
}

// document reads JSON from the command line, a file, or standard input. Errors say
// which it is by its name.
func (p *program) document(name, from string) (json.RawMessage, error) {
	var data []byte
	var err error
	switch {
	case from == "-":
		data, err = io.ReadAll(p.in)
	case strings.HasPrefix(from, "@"):
		data, err = os.ReadFile(from[1:])
	default:
		data = []byte(from)
	}
	if err != nil {
		return nil, usageError{err}
	}
	if !json.Valid(data) {
		var v any
		return nil, usagef("parse %s: %w", name, mcp.Unmarshal(data, &v))
	}
	if t := strings.TrimSpace(string(data)); t[0] != '{' {
		return nil, usagef("%s must be one JSON object, such as {\"a\": 1}", name)
	}
	return data, nil
}

// A bar shows progress, or the status of a task, on one line of standard error, if
// that is a terminal. It is safe for concurrent use.
type bar struct {
	p *program

	mu    sync.Mutex
	shown bool
	last  time.Time
	task  tasks.Task // the last state; no ID: the call is no task
}

func (p *program) progress() *bar { return &bar{p: p} }

func (b *bar) show(now mcp.ProgressParams) {
	text := fmt.Sprintf("%g", now.Progress)
	if now.Total > 0 {
		share := max(0, min(1, now.Progress/now.Total))
		const cells = 20
		full := int(share * cells)
		text = fmt.Sprintf("%s%s %3.0f %%", strings.Repeat("█", full), strings.Repeat("░", cells-full), share*100)
	}
	if now.Message != "" {
		text += "  " + visible.Line(now.Message)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.task.ID == "" { // the progress of a task is its status
		b.print(text, now.Progress < now.Total)
	}
}

// status shows the status of a task.
func (b *bar) status(t tasks.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if same := b.task; same.ID == t.ID && same.Status == t.Status && same.StatusMessage == t.StatusMessage {
		return
	}
	b.task = t
	if t.Status.Final() {
		return
	}
	text := "task " + statusText(string(t.Status))
	if t.StatusMessage != "" {
		text += ": " + visible.Line(t.StatusMessage)
	}
	b.print(text, false)
}

// print replaces the line. More says that another one follows soon. The lock is
// held.
func (b *bar) print(text string, more bool) {
	if b.p.quiet || !isTerminal(b.p.err) || b.shown && more && time.Since(b.last) < 50*time.Millisecond { // at most 20 updates per second
		return
	}
	b.shown, b.last = true, time.Now()
	fmt.Fprintf(b.p.err, "\r\x1b[K%s", text)
}

// taskID returns the id of the task; "" if the call is none.
func (b *bar) taskID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.task.ID
}

func (b *bar) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		b.shown = false
		fmt.Fprint(b.p.err, "\r\x1b[K")
	}
}
