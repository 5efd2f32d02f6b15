package stdio

import (
	"fmt"
	"io"
	"time"
)

// lastWord is how long a Read or Write that found a pipe closed waits for the
// end of the program, to be able to say how it ended.
const lastWord = 500 * time.Millisecond

// A wire is the two pipes of a Child as a Stream uses them.
type wire Child

// Read reads what the program writes to standard output. Its end is io.EOF
// after Close, or if the program lives on without it; otherwise it is the
// [*ExitError] that tells how the program ended.
func (w *wire) Read(p []byte) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.closing.Load() {
		return 0, io.EOF
	}
	if w.exited.Load() {
		expire(w.stdout)
	}
	n, err := w.stdout.Read(p)
	if err == nil {
		return n, nil
	}
	if err == io.EOF || w.closing.Load() || w.exited.Load() {
		err = w.end(io.EOF)
	}
	return n, err
}

// Write writes to the program's standard input. It waits while the program
// does not read; Close and the end of the program end the wait.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.stdin.Write(p)
	if err != nil {
		err = w.end(fmt.Errorf("server %q takes no more input: %w", w.name, err))
	}
	return n, err
}

// end returns how the program ended if it did so unasked, otherwise err.
func (w *wire) end(err error) error {
	if w.closing.Load() || !wait(w.done, lastWord) || w.closing.Load() {
		return err
	}
	return w.err
}
