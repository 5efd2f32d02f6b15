package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/internal/typeahead"
)

// errInterrupted reports that the user pressed Ctrl-C.
var errInterrupted = errors.New("interrupted")

// lines reads lines that the user types, each only when one is requested. It
// implements form.Lines, for one goroutine at a time.
type lines struct {
	out   io.Writer
	echo  bool // print what was read, if no terminal does
	want  chan lineRequest
	got   chan gotLine
	tty   *os.File // the input, if it is a terminal
	owed  bool     // a line is being read that nobody has received
	ended bool
}

// A lineRequest requests a line. A secret one is not shown while ctx lasts.
type lineRequest struct {
	ctx    context.Context
	prompt string
	secret bool
}

type gotLine struct {
	text string
	err  error
}

func readLines(r io.Reader, out io.Writer, echo bool) *lines {
	l := &lines{out: out, echo: echo, want: make(chan lineRequest), got: make(chan gotLine, 1)}
	if f, ok := r.(*os.File); ok && isTerminal(r) {
		l.tty = f
	}
	go func() { // ends with close, or after the line that it reads
		in := bufio.NewReader(r)
		for w := range l.want {
			if l.hides(w.secret) && in.Buffered() == 0 {
				text, err := form.Hidden(w.ctx, l.tty, out, w.prompt)
				if errors.Is(err, io.EOF) { // Ctrl-C, which is not a signal here
					err = errInterrupted
				}
				l.got <- gotLine{text, err}
				continue
			}
			text, err := in.ReadString('\n')
			if text != "" {
				err = nil
			}
			l.got <- gotLine{strings.TrimRight(text, "\r\n"), err}
		}
	}()
	return l
}

// hides reports whether the terminal hides a secret line.
func (l *lines) hides(secret bool) bool { return secret && l.tty != nil }

// close ends the reader. One that waits for a line ends with the process.
func (l *lines) close() { close(l.want) }

// ask starts to read a line, unless one is being read.
func (l *lines) ask(w lineRequest) {
	if !l.owed && !l.ended {
		l.owed = true
		l.want <- w
	}
}

// took handles a line received from got.
func (l *lines) took(g gotLine, secret bool) (string, error) {
	l.owed = false
	if g.err != nil {
		l.ended = !errors.Is(g.err, errInterrupted)
		return "", g.err
	}
	switch {
	case l.echo && secret:
		fmt.Fprintln(l.out, "(hidden)")
	case l.echo:
		fmt.Fprintln(l.out, g.text)
	}
	return g.text, nil
}

// typedAhead returns the whole lines typed at a terminal and not read yet, and
// discards an unfinished line. It is called before a question, so that only what
// is typed after it answers it. If the input is not a terminal, lines are answers
// and stay.
func (l *lines) typedAhead() []string {
	if l.tty == nil {
		return nil
	}
	var all []string
	for !l.ended {
		if !l.owed && typeahead.HasLine(l.tty) {
			l.ask(lineRequest{ctx: context.Background()})
		} else if len(l.got) == 0 {
			break // there is nothing, or the reader waits for a line
		}
		text, err := l.took(<-l.got, false)
		if err != nil {
			break
		}
		if text = strings.TrimSpace(text); text != "" {
			all = append(all, text)
		}
	}
	typeahead.Discard(l.tty)
	return all
}

// complete returns the whole lines typed at a terminal and not read yet. Unlike
// typedAhead it leaves an unfinished line.
func (l *lines) complete() []string {
	var all []string
	for l.tty != nil && !l.ended && !l.owed && typeahead.HasLine(l.tty) {
		l.ask(lineRequest{ctx: context.Background()})
		text, err := l.took(<-l.got, false)
		if err != nil {
			break
		}
		if text = strings.TrimSpace(text); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// ReadLine prints a prompt and returns the next line.
func (l *lines) ReadLine(ctx context.Context, prompt string) (string, error) {
	return l.read(ctx, prompt, false)
}

// ReadSecret prints a prompt and returns the next line, which is not shown.
func (l *lines) ReadSecret(ctx context.Context, prompt string) (string, error) {
	return l.read(ctx, prompt, true)
}

func (l *lines) read(ctx context.Context, prompt string, secret bool) (string, error) {
	if l.ended {
		return "", io.EOF
	}
	if !l.hides(secret) {
		fmt.Fprint(l.out, prompt)
	}
	l.ask(lineRequest{ctx, prompt, secret})
	select {
	case g := <-l.got:
		text, err := l.took(g, secret)
		if err != nil {
			fmt.Fprintln(l.out)
		}
		return text, err
	case <-ctx.Done():
		fmt.Fprintln(l.out)
		return "", context.Cause(ctx)
	}
}
