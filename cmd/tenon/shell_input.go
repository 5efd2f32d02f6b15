package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/internal/typeahead"
)

// errInterrupted says that the person has thrown away the line.
var errInterrupted = errors.New("interrupted")

// input is where the lines of a shell come from: an editor at a terminal, or
// the bare lines of a pipe. From then on everything that is asked is asked in
// the same place.
func (sh *shell) input() (in form.Lines, end func()) {
	p := sh.p
	stdin, ok := p.in.(*os.File)
	if !ok || !p.interactive() {
		return form.FromReader(p.in, io.Discard), func() {}
	}
	e := &editor{tty: stdin, out: p.err, history: openHistory(p)}
	e.complete = sh.complete
	e.renew()
	out, errs := p.out, p.err
	if isTerminal(p.out) {
		p.out = &aboveLine{e, out}
	}
	p.err = &aboveLine{e, errs}
	p.typing = e
	return e, func() { p.out, p.err, p.typing = out, errs, nil }
}

// An editor reads lines at a terminal. The terminal is in raw mode only while a
// line is being typed, so that Ctrl-C is a signal for whatever runs meanwhile.
type editor struct {
	tty      *os.File
	out      io.Writer
	term     *term.Terminal
	history  *history
	complete func(e *editor, line string, pos int) (string, int)

	mu          sync.Mutex
	typing      bool // a line is being typed
	interrupted bool // Ctrl-C was typed in it
}

// ReadLine is that of form.Lines. A line of a form is not kept in the history
// and not completed. What is typed cannot be taken back when ctx ends, so it is
// waited for.
func (e *editor) ReadLine(_ context.Context, prompt string) (string, error) {
	return e.read(prompt, func() (string, error) {
		e.term.SetPrompt(prompt)
		return e.term.ReadLine()
	})
}

// ReadSecret is that of form.Lines.
func (e *editor) ReadSecret(_ context.Context, prompt string) (string, error) {
	return e.read(prompt, func() (string, error) { return e.term.ReadPassword(prompt) })
}

func (e *editor) read(prompt string, line func() (string, error)) (string, error) {
	before, err := term.MakeRaw(int(e.tty.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(e.tty.Fd()), before)
	e.history.off = prompt != shellPrompt
	if e.history.off { // a question: what was typed before it is no answer
		e.renew()
		typeahead.Discard(e.tty)
	}
	if w, h, err := term.GetSize(int(e.tty.Fd())); err == nil && w > 0 {
		e.term.SetSize(w, h)
	}
	e.begin(true)
	defer e.begin(false)
	e.term.AutoCompleteCallback = nil
	if !e.history.off {
		e.term.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
			if key != '\t' {
				return "", 0, false
			}
			line, pos = e.complete(e, line, pos)
			return line, pos, true
		}
	}
	text, err := line()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	e.mu.Lock()
	thrown := e.interrupted
	e.mu.Unlock()
	if thrown {
		e.renew()
		io.WriteString(e.out, "^C\r\n")
		return "", errInterrupted
	}
	if errors.Is(err, io.EOF) {
		io.WriteString(e.out, "\r\n")
	}
	return text, err
}

// renew begins with a terminal that has no keys left: after Ctrl-C the old one
// would read the same key again.
func (e *editor) renew() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = term.NewTerminal(e, "")
	e.term.History = e.history
	e.typing = false
}

func (e *editor) begin(typing bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.typing = typing
	if typing {
		e.interrupted = false
	}
}

// Read reads keys. The terminal takes Ctrl-C and Ctrl-D for the same.
func (e *editor) Read(b []byte) (int, error) {
	n, err := e.tty.Read(b)
	for _, key := range b[:n] {
		if key == 3 {
			e.mu.Lock()
			e.interrupted = true
			e.mu.Unlock()
		}
	}
	return n, err
}

// Write writes to the terminal.
func (e *editor) Write(b []byte) (int, error) { return e.out.Write(b) }

// aboveLine writes to a terminal where a line may be being typed: the line is drawn
// again below what is written.
type aboveLine struct {
	e *editor
	w io.Writer
}

func (b *aboveLine) Write(text []byte) (int, error) {
	b.e.mu.Lock()
	typing, terminal := b.e.typing, b.e.term
	b.e.mu.Unlock()
	if typing {
		return terminal.Write(text)
	}
	return b.w.Write(text)
}

// File is the terminal itself, for those who ask how wide it is.
func (b *aboveLine) File() *os.File {
	f, _ := b.w.(*os.File)
	return f
}
