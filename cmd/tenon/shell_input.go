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

// errInterrupted reports that the user discarded the line with Ctrl-C.
var errInterrupted = errors.New("interrupted")

// input returns the reader of a shell's lines: an editor at a terminal, or the
// plain lines of a pipe. Later questions use the same reader.
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

// An editor reads lines at a terminal. The terminal is in raw mode only while the
// user types a line, so that Ctrl-C is a signal while a command runs.
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

// ReadLine implements form.Lines. A line of a form is neither stored in the history
// nor completed. When ctx ends, ReadLine still waits for the end of the line.
func (e *editor) ReadLine(_ context.Context, prompt string) (string, error) {
	return e.read(prompt, func() (string, error) {
		e.term.SetPrompt(prompt)
		return e.term.ReadLine()
	})
}

// ReadSecret implements form.Lines.
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

// renew replaces the terminal by one with an empty buffer: after Ctrl-C the old
// one would read the same key again.
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

// aboveLine is a writer to a terminal where the user may be typing a line: it
// redraws the line below the output.
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

// File returns the terminal, for its width.
func (b *aboveLine) File() *os.File {
	f, _ := b.w.(*os.File)
	return f
}
