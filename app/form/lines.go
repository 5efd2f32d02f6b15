package form

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/tenon-mcp/tenon/internal/typeahead"
)

// Lines reads the answers of the user. ReadLine prints the prompt and reads a line;
// it returns io.EOF at the end of the input. ReadSecret does the same without echo
// on a terminal.
type Lines interface {
	ReadLine(ctx context.Context, prompt string) (string, error)
	ReadSecret(ctx context.Context, prompt string) (string, error)
}

// FromReader returns Lines that read from r and write prompts to prompts. If
// ctx ends while a line is being read, the next call takes that line; until it
// arrives, a goroutine waits for it.
//
// If r is a terminal, input that arrives before a prompt is discarded: only
// what is typed after a prompt answers it. From anything else, such as a pipe,
// every line is an answer.
func FromReader(r io.Reader, prompts io.Writer) Lines {
	l := &readerLines{in: bufio.NewReader(r), out: prompts}
	if f, ok := r.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		l.tty = f
	}
	return l
}

type answer struct {
	line string
	err  error
}

type readerLines struct {
	in      *bufio.Reader
	tty     *os.File // what in reads from, if that is a terminal
	out     io.Writer
	pending chan answer // a line that was asked for and did not come yet
}

// ReadLine is for one goroutine at a time.
func (l *readerLines) ReadLine(ctx context.Context, prompt string) (string, error) {
	l.discard()
	fmt.Fprint(l.out, prompt)
	return l.wait(ctx, func() (string, error) {
		line, err := l.in.ReadString('\n')
		if line != "" {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	})
}

// ReadSecret is for one goroutine at a time.
func (l *readerLines) ReadSecret(ctx context.Context, prompt string) (string, error) {
	l.discard()
	if l.tty == nil || l.pending != nil || l.in.Buffered() > 0 {
		return l.ReadLine(ctx, prompt)
	}
	return l.wait(ctx, func() (string, error) { return Hidden(ctx, l.tty, l.out, prompt) })
}

// discard drops what was typed at a terminal before now, both what this process
// has read and what it has not.
func (l *readerLines) discard() {
	if l.tty == nil {
		return
	}
	if l.pending != nil {
		select {
		case <-l.pending:
			l.pending = nil
		default: // the goroutine that reads has no line yet
		}
	}
	if l.pending == nil {
		l.in.Discard(l.in.Buffered())
	}
	typeahead.Discard(l.tty)
}

// wait waits for the line that is being read, or begins to read one.
func (l *readerLines) wait(ctx context.Context, read func() (string, error)) (string, error) {
	if l.pending == nil {
		next := make(chan answer, 1)
		l.pending = next
		go func() {
			line, err := read()
			next <- answer{line, err}
		}()
	}
	select {
	case a := <-l.pending:
		l.pending = nil
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Hidden shows a prompt and reads a line from a terminal without showing it.
// Before the prompt it turns echo off and discards what was typed until then.
// When ctx ends, echo is turned on again, but Hidden still waits for the line.
// Ctrl-D returns io.EOF; Ctrl-C, which sends no signal here, returns
// context.Canceled.
func Hidden(ctx context.Context, tty *os.File, out io.Writer, prompt string) (string, error) {
	fd := int(tty.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	restore := sync.OnceFunc(func() { term.Restore(fd, before) })
	defer restore()
	stop := context.AfterFunc(ctx, restore)
	defer stop()
	typeahead.Discard(tty)
	return term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{singly{tty}, out}, "").ReadPassword(prompt)
}

// singly reads byte by byte, so that nothing after the line is taken. Ctrl-C is
// an error.
type singly struct{ r io.Reader }

func (s singly) Read(b []byte) (int, error) {
	n, err := s.r.Read(b[:min(1, len(b))])
	if n == 1 && b[0] == 3 {
		return 0, context.Canceled
	}
	return n, err
}
