package recording

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
)

// A Recorder is a [wirelog.Sink] that writes a recording as messages are added. Add
// never blocks: messages that cannot be written in time are dropped, and the
// recording has an event in their place. It stops at the first error.
type Recorder struct {
	queue *wirelog.Queue
	out   *whole
	rec   *recorder

	mu   sync.Mutex
	err  error
	lost int
}

// RecordOptions configure a [Recorder]; nil means the defaults.
type RecordOptions struct {
	WriteOptions

	// MaxBytes is the maximum size of the queue. 0 means 16 MB.
	MaxBytes int
}

// NewRecorder starts a recording of a server on w. Each message is flushed, so
// that the file is complete up to the moment the process ends.
func NewRecorder(w io.Writer, server string, o *RecordOptions) *Recorder {
	if o == nil {
		o = &RecordOptions{}
	}
	r := &Recorder{out: &whole{to: w}}
	head := Recording{Server: server, Started: time.Now()}
	opts := o.WriteOptions
	first := true
	r.queue = wirelog.NewQueue(o.MaxBytes, func(m *speccheck.Message) {
		if first {
			r.rec, first = newRecorder(r.out, &head, &opts), false
		}
		r.write(m)
	}, func(n int) {
		r.mu.Lock()
		r.lost += n
		r.mu.Unlock()
		text := fmt.Sprintf("%d messages are missing here: they arrived too fast", n)
		if r.rec != nil {
			r.write(&speccheck.Message{At: time.Now(), Dir: speccheck.FromServer, Kind: speccheck.KindEvent, Frame: []byte(text)})
		}
	})
	return r
}

// A whole collects what is written and passes it on in one piece, so that a process
// that is killed leaves no part of a message.
type whole struct {
	bytes.Buffer
	to io.Writer
}

// Flush passes on what was collected.
func (w *whole) Flush() error {
	_, err := w.to.Write(w.Bytes())
	w.Reset()
	return err
}

// Add implements [wirelog.Sink].
func (r *Recorder) Add(m *speccheck.Message) { r.queue.Add(m) }

func (r *Recorder) write(m *speccheck.Message) {
	if r.Err() != nil {
		return
	}
	r.rec.write(m)
	err := r.rec.err
	if err == nil {
		err = r.out.Flush()
	}
	if err != nil {
		r.mu.Lock()
		r.err = fmt.Errorf("the recording is incomplete: %w", err)
		r.mu.Unlock()
	}
}

// Err returns the error that stopped the recording, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes the queued messages and waits for that until ctx ends. It returns
// an error if writing failed or messages were dropped. It does not close the
// writer.
func (r *Recorder) Close(ctx context.Context) error {
	if err := r.queue.Close(ctx); err != nil {
		return fmt.Errorf("the recording is incomplete: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && r.lost > 0 {
		return fmt.Errorf("the recording is incomplete: %d messages arrived too fast", r.lost)
	}
	return r.err
}
