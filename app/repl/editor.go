package repl

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/tenon-mcp/tenon/internal/typeahead"
)

// errInterrupted reports that the user discarded the line with Ctrl-C.
var errInterrupted = errors.New("interrupted")

// An editor reads lines at a terminal. The terminal is in raw mode only while the
// user types a line, so that Ctrl-C is a signal while a command runs.
type editor struct {
	tty      *os.File
	out      io.Writer
	term     *term.Terminal
	history  *History
	saved    func(error) // receives the error of each Add to the history
	complete func(e *editor, line string, pos int) (string, int)
	question bool // the line answers a question: it is neither completed nor stored

	mu          sync.Mutex
	typing      bool // a line is being typed
	interrupted bool // Ctrl-C was typed in it
}

// ReadLine implements form.Lines. When ctx ends, ReadLine still waits for the end
// of the line.
func (e *editor) ReadLine(_ context.Context, text string) (string, error) {
	return e.read(text != prompt, func() (string, error) {
		e.term.SetPrompt(text)
		return e.term.ReadLine()
	})
}

// ReadSecret implements form.Lines.
func (e *editor) ReadSecret(_ context.Context, text string) (string, error) {
	return e.read(true, func() (string, error) { return e.term.ReadPassword(text) })
}

func (e *editor) read(question bool, line func() (string, error)) (string, error) {
	before, err := term.MakeRaw(int(e.tty.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(e.tty.Fd()), before)
	e.question = question
	if question { // input typed before the question does not answer it
		e.renew()
		typeahead.Discard(e.tty)
	}
	if w, h, err := term.GetSize(int(e.tty.Fd())); err == nil && w > 0 {
		e.term.SetSize(w, h)
	}
	e.begin(true)
	defer e.begin(false)
	e.term.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' || question {
			return "", 0, false
		}
		line, pos = e.complete(e, line, pos)
		return line, pos, true
	}
	text, err := line()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	e.mu.Lock()
	discarded := e.interrupted
	e.mu.Unlock()
	if discarded {
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
	e.term.History = (*recalled)(e)
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

// width returns the number of columns of the terminal; 0 if it is not known.
func (e *editor) width() int {
	columns, _, _ := term.GetSize(int(e.tty.Fd()))
	return columns
}

// recalled is the history as term.Terminal uses it: index 0 is the newest line.
// It is empty for answers to questions.
type recalled editor

func (r *recalled) Add(line string) {
	if !r.question && line != "" && line[0] != ' ' {
		r.saved(r.history.Add(line))
	}
}

func (r *recalled) Len() int {
	if r.question {
		return 0
	}
	return len(r.history.Lines)
}

func (r *recalled) At(i int) string { return r.history.Lines[len(r.history.Lines)-1-i] }

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
