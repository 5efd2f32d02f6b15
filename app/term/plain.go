package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A plain is the user interface with plain lines, without escape sequences. It
// uses one goroutine; events of a turn arrive through the feed.
type plain struct {
	t     *talk
	out   io.Writer
	in    *lines
	width int

	text  strings.Builder // of the model, until its line ends
	phase map[string]host.CallPhase
	left  bool     // the user has left
	turns bool     // a turn runs, and lines that the user types are queued
	typed bool     // the input is a terminal, not a script
	ahead []string // lines typed before or during a question, for the prompt after it
}

// RunPlain is Run without a terminal: the same commands, and questions that are
// answered with lines. It ends with the input.
func RunPlain(ctx context.Context, w *workspace.Workspace, o Options) error {
	o.fill()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := &plain{t: newTalk(ctx, w, o), out: o.Out, width: 100, phase: map[string]host.CallPhase{}, typed: isTerminal(o.In)}
	p.in = readLines(o.In, o.Out, !p.typed)
	defer p.in.close()
	p.greet()
	var last time.Time // an interrupt of the prompt
	for !p.left {
		p.show()
		text, err := p.next(ctx)
		switch {
		case errors.Is(err, errInterrupted) && p.typed && time.Since(last) > doublePress:
			last = time.Now()
			p.say(quitHint)
			continue
		case errors.Is(err, errInterrupted) || errors.Is(err, io.EOF) || ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		last = time.Time{}
		if err := p.line(text); err != nil {
			p.say("! " + err.Error())
		}
	}
	return nil
}

// greet writes the first lines: the model, or how to connect one, and the greeting.
func (p *plain) greet() {
	o := p.t.o
	model := "Model: " + modelLabel(p.t.w.Host.Model())
	if o.Welcome != nil && o.Welcome.Why != "" {
		model += ": " + o.Welcome.Why
	}
	p.say(model)
	if o.Welcome != nil && o.Welcome.Connect != "" && !p.t.hasModel() {
		p.say(o.Welcome.Connect)
	}
	for _, l := range o.Greeting {
		p.say(l)
	}
}

// next returns the next line: one that was typed ahead, or a new one.
func (p *plain) next(ctx context.Context) (string, error) {
	if len(p.ahead) > 0 {
		text := p.ahead[0]
		p.ahead = p.ahead[1:]
		p.say("> " + text)
		return text, nil
	}
	return p.prompt(ctx, "> ")
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// say writes a message for the user. Its further lines are indented, so that none of
// a text that comes from a server looks like a line of Tenon.
func (p *plain) say(text string) {
	p.flush()
	fmt.Fprintln(p.out, strings.ReplaceAll(visible.Text(text), "\n", "\n  "))
}

// prompt reads a line. Events wait meanwhile.
func (p *plain) prompt(ctx context.Context, prompt string) (string, error) {
	return p.read(ctx, prompt, p.in.ReadLine)
}

func (p *plain) read(ctx context.Context, prompt string, line func(context.Context, string) (string, error)) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-p.t.o.Interrupts:
			cancel(errInterrupted)
		case <-over:
		}
	}()
	defer func() { // wait, so that it does not take a later interrupt
		close(over)
		<-ended
	}()
	return line(ctx, prompt)
}

// line runs a line.
func (p *plain) line(text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		if p.typed && len(p.t.now().Queued()) > 0 {
			p.sendQueue()
		}
		return nil
	}
	c, words, err := p.t.parsed(text)
	if err != nil {
		return err
	}
	if c == nil {
		p.send(text, p.typed)
		return nil
	}
	a, err := p.command(func(ctx context.Context, out *show.Printer) (outcome, error) { return c.run(ctx, p.t, words, out) })
	for err == nil && a.fill != nil {
		a, err = p.fill(a.fill)
	}
	if err == nil && a.say != "" {
		p.send(a.say, true)
		return nil
	}
	p.left = a.quit
	return err
}

// send sends a message to the model. Events report the outcome. Text that was
// not typed is not parsed.
func (p *plain) send(text string, typed bool) {
	in := host.Input{Typed: text}
	if !typed {
		in = host.Input{Data: text}
	}
	now := p.t.now()
	if len(now.Queued()) > 0 { // they go first
		if _, err := now.Queue(in); err != nil {
			p.say("! " + err.Error())
			return
		}
		p.sendQueue()
		return
	}
	if p.turn(func(ctx context.Context) error { _, err := now.SendInput(ctx, in, nil); return err }) == nil && now.NextQueued() {
		p.sendQueue()
	}
}

// sendQueue sends the messages that wait, until none waits or a turn fails.
func (p *plain) sendQueue() {
	now := p.t.now()
	for _, q := range now.Queued() {
		p.say("> " + q.Text())
	}
	for {
		err := p.turn(func(ctx context.Context) error { _, err := now.SendQueued(ctx, nil); return err })
		if err != nil || !now.NextQueued() {
			return
		}
	}
}

// turn runs a turn. Lines that the user types meanwhile are queued. After a turn
// that failed, it says how many messages wait.
func (p *plain) turn(f func(ctx context.Context) error) error {
	p.turns = p.typed
	err := p.run(f)
	p.turns = false
	if n := len(p.t.now().Queued()); err != nil && n > 0 && p.typed {
		p.say(fmt.Sprintf("%s still queued: an empty line sends, /queue lists.", count(n, "message is", "messages are")))
	}
	return err
}

// command runs a command and writes its output.
func (p *plain) command(f func(ctx context.Context, out *show.Printer) (outcome, error)) (a outcome, err error) {
	var b buffer
	err = p.run(func(ctx context.Context) (err error) {
		a, err = f(ctx, b.printer(p.width, false))
		return err
	})
	if b.Len() > 0 {
		fmt.Fprintln(p.out, strings.TrimRight(b.String(), "\n"))
	}
	for _, n := range a.notes {
		p.say(n)
	}
	if a.list != "" && len(a.items) == 0 {
		p.say("(none)")
	}
	for _, i := range a.items {
		about := i.about
		if i.off {
			about = "(not available: " + about + ")"
		}
		p.say(strings.TrimSpace(i.value + "  " + strings.TrimPrefix(i.text, i.value) + "  " + about))
	}
	if a.session && err == nil {
		p.say("Session: " + p.t.now().ID)
	}
	return a, err
}

// fill asks for the arguments of a tool or a prompt.
func (p *plain) fill(c *callSheet) (outcome, error) {
	p.say("Fill in " + c.title + " (an empty line skips an optional field, ! cancels):")
	p.keepAhead()
	if err := p.sheet(p.t.ctx, c.sheet); err != nil {
		if errors.Is(err, form.ErrDeclined) || errors.Is(err, io.EOF) {
			p.say("not called")
			return outcome{}, nil
		}
		return outcome{}, err
	}
	return p.command(func(ctx context.Context, _ *show.Printer) (outcome, error) { return c.done(ctx, p.t) })
}

// sheet asks for each field until its value is valid.
func (p *plain) sheet(ctx context.Context, s *sheet) error {
	for i := range s.fields {
		f := &s.fields[i]
		if f.given {
			continue
		}
		if f.Description != "" {
			p.say("  " + line(f.Description))
		}
		for n, o := range f.Options {
			p.say(fmt.Sprintf("  %2d  %s %s", n+1, line(o.Value), line(o.Title)))
		}
		for {
			notes := line(f.kind)
			read := p.in.ReadLine
			if f.secret {
				read, notes = p.in.ReadSecret, notes+", hidden"
			}
			if f.value != "" {
				notes += ", default: " + line(f.shown(f.value))
			} else if !f.Required {
				notes += ", optional"
			}
			text, err := p.read(ctx, fmt.Sprintf("%s (%s): ", f.label(), notes), read)
			switch {
			case err != nil:
				return err
			case text == "!":
				return form.ErrDeclined
			case text == "" && f.value != "":
				text = f.value
			}
			before := f.value
			f.value = text
			if err := f.check(); err == nil {
				break
			} else {
				f.value = before
				p.say("  " + err.Error())
			}
		}
	}
	return nil
}

// run runs f while it shows events and asks questions. An interrupt stops f.
func (p *plain) run(f func(ctx context.Context) error) error {
	over := make(chan error, 1)
	go func() { over <- p.t.do(f) }() // waited for below
	var last time.Time
	typed := time.NewTicker(typedPause)
	defer typed.Stop()
	for {
		select {
		case <-typed.C:
			if p.turns {
				p.queueTyped()
			}
		case err := <-over:
			p.show()
			p.flush()
			return err
		case <-p.t.o.Feed.wake:
			p.show()
		case <-p.t.o.Interrupts:
			p.t.stop()
			if !last.IsZero() && time.Since(last) < doublePress {
				p.left = true
			}
			last = time.Now()
		}
	}
}

// show writes the queued events and states.
func (p *plain) show() {
	for _, v := range p.t.o.Feed.take() {
		switch v := v.(type) {
		case connect.State:
			p.t.forget(v.Server)
			if v.Phase == connect.Failed || v.Phase == connect.NeedsLogin {
				p.say(fmt.Sprintf("! %s: %s: %s %s", v.Server, v.Phase, v.Why, v.Page))
			}
		case host.Event:
			p.event(v)
		}
	}
}

func (p *plain) event(e host.Event) {
	switch e.Kind {
	case host.EventText:
		p.stream(e.Text)
	case host.EventPrompt:
		p.say("Prompt from " + e.Server + " says:")
		for _, l := range quoteMessage(e.Text, p.width, &theme{}) {
			fmt.Fprintln(p.out, "  "+l)
		}
	case host.EventTool:
		p.tool(e.Call)
	case host.EventAsk:
		p.ask(*e.Ask)
	case host.EventChanged:
		p.t.forget(e.Server)
	case host.EventTask:
		p.say(e.Text)
	case host.EventNotice:
		p.say("! " + from(e.Server, e.Text))
	case host.EventLog:
		p.say("· " + from(e.Server, e.Level+": "+e.Text))
	case host.EventError:
		p.say("! " + e.Text)
	case host.EventStopped:
		p.flush()
	case host.EventDone:
		p.flush()
		clear(p.phase)
		if e.Stop == "cancelled" {
			p.say("stopped")
		}
	}
}

// stream writes the model's answer line by line.
func (p *plain) stream(piece string) {
	p.text.WriteString(piece)
	text := p.text.String()
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		fmt.Fprintln(p.out, visible.Terminal(text[:i]))
		p.text.Reset()
		p.text.WriteString(text[i+1:])
	}
}

// flush writes the rest of the answer.
func (p *plain) flush() {
	if p.text.Len() > 0 {
		fmt.Fprintln(p.out, visible.Terminal(p.text.String()))
		p.text.Reset()
	}
}

func (p *plain) tool(c *host.ToolCall) {
	if p.phase[c.ID] == c.Phase {
		return
	}
	p.phase[c.ID] = c.Phase
	k := card{call: *c}
	switch c.Phase {
	case host.CallRunning:
		p.say("● " + callName(c) + " " + line(compact(c.Arguments)))
	case host.CallDone, host.CallFailed:
		mark, _ := sign(c.Phase, &theme{})
		p.say(mark + " " + callName(c) + "  " + k.measured())
		if c.Problem != "" {
			p.say("  " + c.Problem)
		}
		for _, l := range k.result(p.width-2, false, mostResult) {
			fmt.Fprintln(p.out, "  "+l)
		}
	case host.CallDenied:
		p.say("⊘ " + callName(c) + " was denied: " + c.Rule)
	case host.CallCancelled:
		p.say("◌ " + callName(c) + " was stopped")
	}
}
