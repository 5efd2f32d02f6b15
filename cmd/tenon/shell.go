package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/app/repl"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell SERVER",
		Short: "Use a server interactively, with history and completion",
		Long: `Use a server interactively. Tab completes commands, tools, arguments and their
values, URIs and prompts. History is saved in a file that only you can read; lines
that begin with a space or contain a secret, such as password=…, are not saved.

` + repl.Help + `
If standard input is not a terminal, each line is a command. The exit code is then
that of the last command that failed, or 0.`,
		Example: "  tenon shell builtin:calc\n  printf 'call add a=20 b=22\\nping\\n' | tenon shell builtin:calc",
		RunE:    p.shell,
	}
}

func (p *program) shell(cmd *cobra.Command, args []string) error {
	if _, err := p.printer(); err != nil {
		return err
	}
	var s *session
	o := repl.Options{
		In: p.in, Out: p.out, Err: p.err, PlainOut: !isTerminal(p.out), Tracing: p.trace,
		History: repl.History{File: p.historyFile(), Secrets: &p.secrets},
		Trace: func(w io.Writer) *wirelog.Tracer {
			return wirelog.Trace(w, &wirelog.TraceOptions{Colour: p.colored(w), Secrets: &p.secrets})
		},
		Run:  func(ctx context.Context, words []string) error { return p.runInShell(ctx, s, words) },
		Fail: p.fail, Note: p.note,
		Notify: func(n mcp.Notification) {
			p.printNotification(&show.Printer{W: p.err, Format: show.Text, Color: p.colored(p.err)}, n)
		},
		Attach: func(out, errs io.Writer, answers form.Lines) func() {
			oldOut, oldErr := p.out, p.err
			p.out, p.err, p.typing = out, errs, answers
			return func() { p.out, p.err, p.typing = oldOut, oldErr, nil }
		},
	}
	if tty, ok := p.in.(*os.File); ok && p.interactive() {
		o.TTY = tty
	}
	sh := repl.New(o)
	p.trace = false // the shell traces
	p.sinks = []wirelog.Sink{sh.Sink()}
	s, rest, err := p.open(cmd, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return errors.Join(usagef("unexpected argument: tenon shell takes only the server; type or pipe the commands"), s.Close())
	}
	s.shared = true
	err = sh.Run(context.WithoutCancel(cmd.Context()), s.Client)
	s.shared = false
	if failed, ok := errors.AsType[*repl.FailedError](err); ok {
		err = exitWith(exitCode(failed.Err))
	} else if errors.Is(err, repl.ErrTerminated) {
		err = exitWith(exitInterrupted)
	}
	return errors.Join(err, s.Close())
}

// runInShell runs a command of tenon on the connection of the shell.
func (p *program) runInShell(ctx context.Context, s *session, words []string) error {
	if !slices.Contains(repl.Commands, words[0]) {
		return usagef("unknown command %q%s; type \"help\"", words[0], suggest(words[0], append(slices.Clone(repl.Commands), "listen", "trace", "help", "exit")))
	}
	sub := &program{in: strings.NewReader(""), out: p.out, err: p.err, flags: p.flags, current: s, ctx: ctx}
	return sub.rootFor(words[0], words).ExecuteContext(ctx)
}

// historyFile returns the path of the shell's history: in the user's state folder,
// or in the configuration folder if that was set or the system has no state
// folder. It is empty if there is neither.
func (p *program) historyFile() string {
	if p.userDir == "" && runtime.GOOS != "windows" && runtime.GOOS != "darwin" {
		if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "tenon", "history")
		}
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, ".local", "state", "tenon", "history")
		}
	}
	dir, err := p.configDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}
