package form

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// Lines reads the answers of a person. ReadLine shows the prompt, and returns
// io.EOF when there is nobody to answer.
type Lines interface {
	ReadLine(ctx context.Context, prompt string) (string, error)
}

// FromReader reads lines from a reader and shows prompts on a writer. A line
// that is still being waited for when ctx ends is given to the next call; until
// it comes, a goroutine waits for it.
func FromReader(r io.Reader, prompts io.Writer) Lines {
	return &readerLines{in: bufio.NewReader(r), out: prompts}
}

type answer struct {
	line string
	err  error
}

type readerLines struct {
	in      *bufio.Reader
	out     io.Writer
	pending chan answer // a line that was asked for and did not come yet
}

// ReadLine is for one goroutine at a time.
func (l *readerLines) ReadLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(l.out, prompt)
	if l.pending == nil {
		next := make(chan answer, 1)
		l.pending = next
		go func() {
			line, err := l.in.ReadString('\n')
			if line != "" {
				err = nil
			}
			next <- answer{strings.TrimRight(line, "\r\n"), err}
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
