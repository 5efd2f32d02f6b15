package audit

import (
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// WriterOptions configure a Writer; nil means the defaults.
type WriterOptions struct {
	// Every is how long records wait for others, so that they are written to
	// disk together. 0 means 100 ms.
	Every time.Duration
	// Wait makes Append return when its record is on disk. Records of concurrent
	// calls are still written together.
	Wait bool
}

// A Writer appends records to a Log for many goroutines, which share the time that
// the disk needs. The caller closes it, and then the Log.
type Writer struct {
	log *Log
	o   WriterOptions

	mu      sync.Mutex
	current *batch
	failed  error // of the last batch; nil if it was written
	closed  bool

	wake chan struct{} // has an element if current has records
	quit chan struct{}
	done chan struct{} // closed when run has ended
}

// A batch is records that are written together.
type batch struct {
	records []any
	size    int
	written chan struct{} // closed when the batch was written, or failed
	err     error         // set before written is closed
}

const (
	maxBatch     = 1000    // lines that are written together
	maxWaiting   = 8 << 20 // bytes of the records that wait
	failureRetry = time.Second
)

var errWriterClosed = errors.New("the audit log is closed")

// NewWriter returns a Writer for a log.
func NewWriter(l *Log, o *WriterOptions) *Writer {
	w := &Writer{log: l, current: newBatch(), wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	if o != nil {
		w.o = *o
	}
	if w.o.Every <= 0 {
		w.o.Every = 100 * time.Millisecond
	}
	go w.run()
	return w
}

func newBatch() *batch { return &batch{written: make(chan struct{})} }

// Append adds a record, which is on disk soon; see WriterOptions. It returns an
// error, and does not add the record, while the log cannot be written: records
// that were added before are kept, and tried again each second.
func (w *Writer) Append(record any) error {
	raw, ok := record.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(record); err != nil {
			return err
		}
	}
	b, err := w.add(raw)
	if err != nil || !w.o.Wait {
		return err
	}
	<-b.written
	return b.err
}

// add adds a record to a batch. It waits while too many records wait.
func (w *Writer) add(raw json.RawMessage) (*batch, error) {
	for {
		w.mu.Lock()
		b := w.current
		switch {
		case w.closed:
			w.mu.Unlock()
			return nil, errWriterClosed
		case w.failed != nil && !w.o.Wait:
			defer w.mu.Unlock()
			return nil, w.failed
		case b.size < maxWaiting && len(b.records) < maxBatch:
			b.records, b.size = append(b.records, raw), b.size+len(raw)
			w.mu.Unlock()
			select {
			case w.wake <- struct{}{}:
			default:
			}
			return b, nil
		}
		w.mu.Unlock()
		<-b.written
	}
}

// run writes batches until Close.
func (w *Writer) run() {
	defer close(w.done)
	for {
		select {
		case <-w.wake:
		case <-w.quit:
			w.flush()
			return
		}
		if !w.o.Wait {
			w.pause(w.o.Every)
		}
		err := w.flush()
		if err != nil && w.o.Wait {
			w.retry()
		}
		for err != nil && !w.o.Wait && !w.pause(failureRetry) {
			err = w.flush()
		}
	}
}

// retry tries each second whether the log can be written again, with a line that
// says that it could not.
func (w *Writer) retry() {
	for w.Err() != nil {
		timer := time.NewTimer(failureRetry)
		select {
		case <-timer.C:
			w.setErr(w.log.Append(note{What: noteGap, Why: "the log could not be written before this line, so records may be missing"}))
		case <-w.wake:
			w.flush()
		case <-w.quit:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// Err returns why the log cannot be written; nil if it can, as far as is known.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *Writer) setErr(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
}

// pause waits for d, less if the current batch is full. It reports whether the
// Writer is being closed.
func (w *Writer) pause(d time.Duration) (closing bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return false
		case <-w.quit:
			return true
		case <-w.wake:
			w.mu.Lock()
			full := w.failed == nil && len(w.current.records) >= maxBatch/2
			w.mu.Unlock()
			if full {
				return false
			}
		}
	}
}

// flush writes the current batch.
func (w *Writer) flush() error {
	w.mu.Lock()
	b := w.current
	w.current = newBatch()
	w.mu.Unlock()
	var err error
	rest := b.records
	for len(rest) > 0 && err == nil { // more than maxBatch after a failure
		n := min(len(rest), maxBatch)
		if err = w.log.AppendAll(rest[:n]); err == nil {
			rest = rest[n:]
		}
	}
	w.mu.Lock()
	if w.failed = err; err != nil && !w.o.Wait {
		w.current.records, w.current.size = append(rest, w.current.records...), b.size+w.current.size
	}
	w.mu.Unlock()
	b.err = err
	close(b.written)
	return err
}

// Close writes the records that wait, and returns the error if that fails.
func (w *Writer) Close() error {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if closed {
		return nil
	}
	close(w.quit)
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}
