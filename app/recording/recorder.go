package recording

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
)

// A Recorder is a [wirelog.Sink] that writes a recording as messages come. It never
// holds up the traffic: what cannot be written in time is left out, and the
// recording says so at that place. After the first error it writes no more.
type Recorder struct {
	queue *wirelog.Queue
	out   *bufio.Writer
	rec   *recorder

	mu   sync.Mutex
	err  error
	lost int
}

// RecordOptions say how a Recorder writes; nil means the defaults.
type RecordOptions struct {
	WriteOptions

	// MaxBytes is how much may wait to be written. 0 means 16 MB.
	MaxBytes int
}

// NewRecorder begins a recording of a server on w. Each message is flushed, so
// that a file is good up to its end whenever the process ends.
func NewRecorder(w io.Writer, server string, o *RecordOptions) *Recorder {
	if o == nil {
		o = &RecordOptions{}
	}
	r := &Recorder{out: bufio.NewWriter(w)}
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
		text := fmt.Sprintf("%d messages are missing here: they came faster than they could be written", n)
		if r.rec != nil {
			r.write(&speccheck.Message{At: time.Now(), Dir: speccheck.FromServer, Kind: speccheck.KindEvent, Frame: []byte(text)})
		}
	})
	return r
}

// Add takes a message; it is a [wirelog.Sink]'s.
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
		r.err = fmt.Errorf("the recording is not complete: %w", err)
		r.mu.Unlock()
	}
}

// Err says why the recording was given up, if it was. It may be asked at any
// time.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes what waits, until ctx ends, and says what went wrong: an error
// of the writer, or that messages are missing. It does not close the writer.
func (r *Recorder) Close(ctx context.Context) error {
	if err := r.queue.Close(ctx); err != nil {
		return fmt.Errorf("the recording is not complete: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && r.lost > 0 {
		return fmt.Errorf("the recording is not complete: %d messages came faster than they could be written", r.lost)
	}
	return r.err
}
