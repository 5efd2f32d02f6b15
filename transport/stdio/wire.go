package stdio

import (
	"fmt"
	"io"
	"time"
)

// exitWait is how long a Read or Write on a closed pipe waits for the end of the
// program, to return how it ended.
const exitWait = 500 * time.Millisecond

// A wire is the reader and writer of a Child for its Stream.
type wire Child

// Read reads standard output of the program. At the end it returns io.EOF after
// Close or while the program still runs, and otherwise the [*ExitError].
func (w *wire) Read(p []byte) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.closing.Load() {
		return 0, io.EOF
	}
	if w.exited.Load() {
		expireReads(w.stdout)
	}
	n, err := w.stdout.Read(p)
	if err == nil {
		return n, nil
	}
	w.readOnce.Do(func() { close(w.allRead) })
	if err == io.EOF || w.closing.Load() || w.exited.Load() {
		err = w.end(io.EOF)
	}
	return n, err
}

// Write writes to standard input of the program. It blocks while the program does
// not read, until Close or the end of the program. It fails only after everything
// that the program has written before its end was read, which may say why it
// ended.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.stdin.Write(p)
	if err != nil {
		err = w.end(fmt.Errorf("write to server %q: %w", w.name, err))
		if w.exited.Load() && !w.closing.Load() {
			wait(w.allRead, exitWait)
		}
	}
	return n, err
}

// end returns how the program ended, or err if Close was called or it still runs.
func (w *wire) end(err error) error {
	if w.closing.Load() || !wait(w.done, exitWait) || w.closing.Load() {
		return err
	}
	return w.err
}
