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
)

// Lines reads the answers of a person. ReadLine shows the prompt, and returns
// io.EOF when there is nobody to answer. ReadSecret does the same and does not
// show what is typed, where a terminal would.
type Lines interface {
	ReadLine(ctx context.Context, prompt string) (string, error)
	ReadSecret(ctx context.Context, prompt string) (string, error)
}

// FromReader reads lines from a reader and shows prompts on a writer. A line
// that is still being waited for when ctx ends is given to the next call; until
// it comes, a goroutine waits for it.
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
	if l.tty == nil || l.pending != nil || l.in.Buffered() > 0 {
		return l.ReadLine(ctx, prompt)
	}
	return l.wait(ctx, func() (string, error) { return Hidden(ctx, l.tty, l.out, prompt) })
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
// The terminal is silent before the prompt is there. When ctx ends it shows
// again what is typed, though the line is still waited for. Ctrl-D is io.EOF and
// Ctrl-C, which is no signal here, context.Canceled.
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
