package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) callCommand() *cobra.Command {
	var asJSON, save string
	c := &cobra.Command{
		Use:   "call SERVER TOOL [name=value …]",
		Short: "Call a tool",
		Long: `Call a tool. Arguments are name=value; the tool's schema decides whether a value
is text, a number, a list and so on. Use name:=JSON for any JSON value,
name.inner=value for a member of an object, name=@file for the contents of a
file, or --json for all arguments at once.

The result goes to standard output, progress and questions to standard error. If
the tool fails, the exit code is 1.`,
		Example: `  tenon call builtin:calc add a=20 b=22
  echo '{"a":20,"b":22}' | tenon call builtin:calc add --json -
  tenon call builtin:fs?root=. read_text_file path=README.md head=5
  tenon call echo message=hi -- npx -y @modelcontextprotocol/server-everything`,
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) == 0 {
				return usagef("missing TOOL; tenon tools SERVER lists the tools")
			}
			arguments, err := p.arguments(ctx, s, rest[0], rest[1:], asJSON)
			if err != nil {
				return err
			}
			bar := p.progress()
			r, err := s.CallTool(ctx, rest[0], arguments, &client.CallOptions{Progress: bar.show})
			bar.done()
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
		}),
	}
	c.Flags().StringVar(&asJSON, "json", "", "all arguments as one JSON `object`, @FILE, or - for standard input")
	c.Flags().StringVar(&save, "save", "", "save images, audio and other binary content of the result in this `folder`")
	return c
}

// arguments returns the arguments of a tool call. It requests the list of tools
// only if name=value arguments need a schema.
func (p *program) arguments(ctx context.Context, s *session, tool string, words []string, asJSON string) (json.RawMessage, error) {
	if asJSON != "" {
		if len(words) > 0 {
			return nil, usagef("use --json or name=value arguments, not both")
		}
		return p.document(asJSON)
	}
	if len(words) == 1 && (words[0] == "-" || strings.HasPrefix(words[0], "@") || strings.HasPrefix(words[0], "{")) {
		return p.document(words[0])
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

// document reads JSON from the command line, a file, or standard input.
func (p *program) document(from string) (json.RawMessage, error) {
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
		return nil, usagef("parse --json: %w", mcp.Unmarshal(data, &v))
	}
	if t := strings.TrimSpace(string(data)); t[0] != '{' {
		return nil, usagef("--json must be one JSON object, such as {\"a\": 1}")
	}
	return data, nil
}

// A bar shows progress on one line of standard error, if that is a terminal.
type bar struct {
	p     *program
	shown bool
	last  time.Time
}

func (p *program) progress() *bar { return &bar{p: p} }

func (b *bar) show(now mcp.ProgressParams) {
	if b.p.quiet || !isTerminal(b.p.err) {
		return
	}
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
	if b.shown && time.Since(b.last) < 50*time.Millisecond && now.Progress < now.Total {
		return // at most 20 updates per second
	}
	b.shown, b.last = true, time.Now()
	fmt.Fprintf(b.p.err, "\r\x1b[K%s", text)
}

func (b *bar) done() {
	if b.shown {
		fmt.Fprint(b.p.err, "\r\x1b[K")
	}
}
