// Package repl is an interactive prompt for one MCP server, with a line editor,
// history and completion: "tenon shell". Package term uses its history and its
// completion, too.
//
//	repl.go       the loop: a line, its command, an interrupt
//	editor.go     lines typed at a terminal, and output above them
//	completer.go  what Tab offers, from the lists of the server
//	complete.go   arguments of tools and prompts, and URIs
//	history.go    earlier lines, without those that contain secrets
package repl

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
	"time"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// Commands lists the commands that Options.Run runs.
var Commands = []string{"tools", "call", "tasks", "resources", "read", "prompts", "prompt", "complete", "raw", "ping", "discover"}

// shellOnly lists the commands that the shell itself runs.
var shellOnly = []string{"listen", "trace", "help", "exit"}

const prompt = "tenon> "

// Help is the help text of the shell.
const Help = `Commands use one connection to the server:

  tools [TOOL …]              list the tools, or show some in full
  call TOOL [name=value …]    call a tool
  tasks list|get|wait|cancel  use calls that run as tasks (call --detach)
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

// ErrTerminated reports that SIGTERM ended the shell.
var ErrTerminated = errors.New("terminated")

// A UsageError reports an invalid line.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// A FailedError is the error of the last command that failed. Options.Fail has
// reported it.
type FailedError struct{ Err error }

func (e *FailedError) Error() string { return "" }
func (e *FailedError) Unwrap() error { return e.Err }

// interrupted is the error of a command that the user cancelled.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted; the call was cancelled" }
func (interrupted) Unwrap() error { return context.Canceled }

// Options configure a Shell. All fields but TTY and History are required.
type Options struct {
	In       io.Reader // the lines, if there is no terminal
	TTY      *os.File  // the terminal that the user types at; nil: none
	Out, Err io.Writer
	PlainOut bool // Out is not the terminal

	History History                           // what was typed before; loaded by Run
	Trace   func(w io.Writer) *wirelog.Tracer // creates the printer of messages
	Tracing bool                              // print messages from the start

	// Run runs one of Commands, or returns an error for an unknown command. Fail
	// reports the error of a command, Note a message, and Notify a change
	// notification.
	Run    func(ctx context.Context, words []string) error
	Fail   func(err error)
	Note   func(format string, args ...any)
	Notify func(n mcp.Notification)

	// Attach is called at a terminal with the streams to use from then on, which
	// leave the line that is being typed intact, and with the reader for answers
	// to questions. The function that it returns restores the old ones.
	Attach func(out, errs io.Writer, answers form.Lines) (restore func())
}

// A Shell reads commands and runs them on one connection.
type Shell struct {
	o          Options
	trace      trace
	client     *client.Client
	completer  Completer
	interrupts chan os.Signal

	stopListening func() // nil if not listening
	listening     sync.WaitGroup
	failed        error // of the last command that failed
}

// New returns a shell. Its Sink must receive the messages of the connection.
func New(o Options) *Shell {
	return &Shell{o: o, trace: trace{on: o.Tracing}, interrupts: make(chan os.Signal, 1)}
}

// Sink returns the receiver of messages that prints them while trace is on.
func (sh *Shell) Sink() wirelog.Sink { return &sh.trace }

// Run reads commands until the input ends, exit is typed, or a signal ends the
// process. Without a terminal it returns a [FailedError] if a command failed.
func (sh *Shell) Run(ctx context.Context, c *client.Client) error {
	sh.client, sh.completer.Client = c, c
	signal.Notify(sh.interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(sh.interrupts)
	in, restore := sh.input()
	defer restore()
	stop := sh.trace.start(sh.o.Trace(sh.o.Err))
	defer stop()
	defer func() { sh.listen(ctx, nil, false) }()
	for {
		line, err := in.ReadLine(ctx, prompt)
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
			sh.fail(&UsageError{err})
			continue
		}
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "exit" || words[0] == "quit" {
			return sh.leave()
		}
		if !sh.command(ctx, words) {
			return ErrTerminated
		}
	}
}

// input returns the reader of the lines: an editor at a terminal, or the lines of
// In.
func (sh *Shell) input() (in form.Lines, restore func()) {
	if sh.o.TTY == nil {
		return form.FromReader(sh.o.In, io.Discard), func() {}
	}
	h := sh.o.History
	h.Load() // without its file the history begins empty
	e := &editor{tty: sh.o.TTY, out: sh.o.Err, history: &h, complete: sh.completer.tab}
	e.saved = func(err error) {
		if err != nil {
			sh.o.Note("cannot save history: %v", err)
			h.File = ""
		}
	}
	e.renew()
	if !sh.o.PlainOut {
		sh.o.Out = &aboveLine{e, sh.o.Out}
	}
	sh.o.Err = &aboveLine{e, sh.o.Err}
	return e, sh.o.Attach(sh.o.Out, sh.o.Err, e)
}

// leave returns the error of the shell: for scripts, that of the last failed command.
func (sh *Shell) leave() error {
	if sh.failed == nil || sh.o.TTY != nil {
		return nil
	}
	return &FailedError{sh.failed}
}

func (sh *Shell) fail(err error) {
	sh.failed = err
	if err.Error() != "" {
		sh.o.Fail(err)
	}
}

// command runs one line. An interrupt cancels the command and not the shell.
// command returns false if a signal ends the process.
func (sh *Shell) command(ctx context.Context, words []string) bool {
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

func (sh *Shell) do(ctx context.Context, words []string) error {
	switch words[0] {
	case "help":
		if len(words) > 1 && slices.Contains(Commands, words[1]) {
			return sh.o.Run(ctx, []string{words[1], "--help"})
		}
		_, err := fmt.Fprint(sh.o.Out, Help)
		return err
	case "listen", "trace":
		if len(words) == 1 || words[1] != "on" && words[1] != "off" {
			return &UsageError{fmt.Errorf("use %s on or %s off", words[0], words[0])}
		}
		if on := words[1] == "on"; words[0] == "trace" {
			sh.trace.set(on)
		} else {
			sh.listen(ctx, words[2:], on)
		}
		return nil
	}
	return sh.o.Run(ctx, words)
}

// listen starts or stops printing change notifications in the background.
func (sh *Shell) listen(ctx context.Context, uris []string, on bool) {
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
	sh.listening.Go(func() {
		err := sh.client.Listen(ctx, filter, func(n mcp.Notification) {
			sh.completer.forget()
			sh.o.Notify(n)
		})
		if err != nil && ctx.Err() == nil {
			sh.o.Note("Stopped listening: %v", err)
		}
	})
}

// A trace prints messages while it is on.
type trace struct {
	mu     sync.Mutex
	on     bool
	tracer *wirelog.Tracer
}

// start sets the printer of the messages, until the returned function is called.
func (t *trace) start(tracer *wirelog.Tracer) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tracer = tracer
	return func() {
		t.mu.Lock()
		t.tracer = nil
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		tracer.Close(ctx)
	}
}

func (t *trace) set(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = on
}

// Add implements wirelog.Sink.
func (t *trace) Add(m *speccheck.Message) {
	t.mu.Lock()
	tracer := t.tracer
	if !t.on {
		tracer = nil
	}
	t.mu.Unlock()
	if tracer != nil {
		tracer.Add(m)
	}
}
