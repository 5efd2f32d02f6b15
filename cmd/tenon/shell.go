package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// inShell lists the commands of tenon that the shell has, without SERVER.
var inShell = []string{"tools", "call", "resources", "read", "prompts", "prompt", "complete", "raw", "ping", "discover"}

// shellOnly lists the commands that only the shell has.
var shellOnly = []string{"listen", "trace", "help", "exit"}

const shellPrompt = "tenon> "

const shellHelp = `Commands use one connection to the server:

  tools [TOOL …]              list the tools, or show some in full
  call TOOL [name=value …]    call a tool
  resources                   list the resources and templates
  read URI                    read a resource
  prompts                     list the prompts
  prompt NAME [name=value …]  fill in a prompt
  complete REF NAME=BEGINNING complete an argument
  raw METHOD [JSON]           send any request
  ping, discover              measure response time, show features
  listen on [URI …] | off     print change notifications
  trace on | off              print every message
  help [COMMAND]              show this help, or that of a command
  exit                        leave

Arguments are separated by spaces; quote with '…', "…" or \. Tab completes, the
arrow keys recall earlier lines. Ctrl-C cancels a running call, Ctrl-D leaves.
`

func (p *program) shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell SERVER",
		Short: "Use a server interactively, with history and completion",
		Long: `Use a server interactively. Tab completes commands, tools, arguments and their
values, URIs and prompts. History is saved in a file that only you can read; lines
that begin with a space are not saved.

` + shellHelp + `
If standard input is not a terminal, each line is a command. The exit code is then
that of the last command that failed, or 0.`,
		Example: "  tenon shell builtin:calc\n  printf 'call add a=20 b=22\\nping\\n' | tenon shell builtin:calc",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := p.printer(); err != nil {
				return err
			}
			sh := &shell{p: p, trace: &switched{on: p.trace, known: &p.secrets}, interrupts: make(chan os.Signal, 1)}
			p.trace = false // the switch decides
			p.sinks = []wirelog.Sink{sh.trace}
			s, rest, err := p.open(cmd, args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return errors.Join(usagef("unexpected argument: tenon shell takes only the server; type or pipe the commands"), s.Close())
			}
			s.shared = true
			sh.session, sh.completer.session = s, s
			err = sh.run(context.WithoutCancel(cmd.Context()))
			s.shared = false
			return errors.Join(err, s.Close())
		},
	}
}

// A shell reads commands and runs them on one connection.
type shell struct {
	p          *program
	session    *session
	trace      *switched
	interrupts chan os.Signal

	completer     completer
	stopListening func() // stops listening; nil if not listening
	listening     sync.WaitGroup
	failed        error // of the last command that failed
}

// run reads commands until the input ends, exit is typed, or a signal ends the
// process.
func (sh *shell) run(ctx context.Context) error {
	signal.Notify(sh.interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(sh.interrupts)
	in, end := sh.input()
	defer end()
	stop := sh.trace.start(sh.p.err, sh.p.colored(sh.p.err))
	defer stop()
	defer func() { sh.listen(ctx, nil, false) }()
	for {
		line, err := in.ReadLine(ctx, shellPrompt)
		switch {
		case errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, io.EOF):
			return sh.leave()
		case err != nil:
			return err
		}
		words, err := args.Split(line)
		if err != nil {
			sh.fail(usageError{err})
			continue
		}
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "exit" || words[0] == "quit" {
			return sh.leave()
		}
		if !sh.command(ctx, words) {
			return exitWith(exitInterrupted)
		}
	}
}

// leave returns the error of the shell: for scripts, that of the last failed command.
func (sh *shell) leave() error {
	if sh.failed == nil || sh.p.interactive() {
		return nil
	}
	return exitWith(exitCode(sh.failed))
}

func (sh *shell) fail(err error) {
	sh.failed = err
	if err.Error() != "" {
		sh.p.fail(err)
	}
}

// command runs one line. An interrupt cancels the command and not the shell.
// command returns false if a signal ends the process.
func (sh *shell) command(ctx context.Context, words []string) bool {
	for len(sh.interrupts) > 0 {
		<-sh.interrupts // meant for something earlier
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- sh.do(ctx, words) }()
	ending := false
	for {
		select {
		case err := <-done:
			switch {
			case ctx.Err() != nil:
				sh.fail(interrupted{})
			case err != nil:
				sh.fail(err)
			}
			return !ending
		case s := <-sh.interrupts:
			ending = ending || s == syscall.SIGTERM
			stop()
		}
	}
}

// interrupted is the error of a command that the user cancelled.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted; the call was cancelled" }
func (interrupted) Unwrap() error { return context.Canceled }

func (sh *shell) do(ctx context.Context, words []string) error {
	switch name := words[0]; {
	case name == "help" && len(words) == 1:
		fmt.Fprint(sh.p.out, shellHelp)
		return nil
	case name == "help" && slices.Contains(inShell, words[1]):
		return sh.tenon(ctx, words[1], "--help")
	case name == "listen":
		on, err := onOff(words)
		if err == nil {
			sh.listen(ctx, words[2:], on)
		}
		return err
	case name == "trace":
		on, err := onOff(words)
		if err == nil {
			sh.trace.set(on)
		}
		return err
	case slices.Contains(inShell, name):
		return sh.tenon(ctx, words...)
	}
	all := append(slices.Clone(inShell), shellOnly...)
	return usagef("unknown command %q%s; type \"help\"", words[0], suggest(words[0], all))
}

func onOff(words []string) (bool, error) {
	if len(words) > 1 && (words[1] == "on" || words[1] == "off") {
		return words[1] == "on", nil
	}
	return false, usagef("use %s on or %s off", words[0], words[0])
}

// tenon runs a command of tenon on the connection of the shell.
func (sh *shell) tenon(ctx context.Context, words ...string) error {
	sub := &program{in: strings.NewReader(""), out: sh.p.out, err: sh.p.err, flags: sh.p.flags, current: sh.session, ctx: ctx}
	return sub.rootFor(words[0], words).ExecuteContext(ctx)
}

// listen starts or stops printing change notifications in the background.
func (sh *shell) listen(ctx context.Context, uris []string, on bool) {
	if sh.stopListening != nil {
		sh.stopListening()
		sh.listening.Wait()
		sh.stopListening = nil
	}
	if !on {
		return
	}
	ctx, sh.stopListening = context.WithCancel(context.WithoutCancel(ctx))
	filter := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: uris}
	out := &show.Printer{W: sh.p.err, Format: show.Text, Color: sh.p.colored(sh.p.err)}
	sh.listening.Go(func() {
		err := sh.session.Listen(ctx, filter, func(n mcp.Notification) {
			sh.completer.known.forget()
			sh.p.printNotification(out, n)
		})
		if err != nil && ctx.Err() == nil {
			sh.p.note("Stopped listening: %v", err)
		}
	})
}

// A switched is a trace that can be turned on and off.
type switched struct {
	mu     sync.Mutex
	on     bool
	known  *redact.Values
	tracer *wirelog.Tracer
}

// start sets the writer of the trace, until the returned function is called.
func (t *switched) start(w io.Writer, colour bool) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tracer = wirelog.Trace(w, &wirelog.TraceOptions{Colour: colour, Secrets: t.known})
	return func() {
		t.mu.Lock()
		tracer := t.tracer
		t.tracer = nil
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), settle)
		defer cancel()
		tracer.Close(ctx)
	}
}

func (t *switched) set(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = on
}

// Add implements wirelog.Sink.
func (t *switched) Add(m *speccheck.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on && t.tracer != nil {
		t.tracer.Add(m)
	}
}
