package streamable

import (
	"sync"
	"sync/atomic"
	"time"
)

// workers is a pool of goroutines for the calls of older revisions. One that has
// served a call waits for a moment and takes the next: a new goroutine begins
// with a small stack, and to grow it costs more than the usual call.
type workers struct {
	jobs    chan func() // to those that rest; nil sends one home
	resting atomic.Int32
	armed   atomic.Bool   // somebody will be sent home
	closed  chan struct{} // nobody rests any more
	close   func()
}

const (
	maxResting = 32
	restTime   = 250 * time.Millisecond
)

func newWorkers() *workers {
	w := &workers{jobs: make(chan func()), closed: make(chan struct{})}
	w.close = sync.OnceFunc(func() { close(w.closed) })
	return w
}

// run has a job done by a goroutine that rests, or else by a new one.
func (w *workers) run(job func()) {
	select {
	case w.jobs <- job:
	default:
		go w.work(job)
	}
}

func (w *workers) work(job func()) {
	for job != nil {
		job()
		job = nil // nothing of it stays alive meanwhile
		if w.resting.Add(1) <= maxResting {
			if w.armed.CompareAndSwap(false, true) {
				time.AfterFunc(restTime, w.stopIdle)
			}
			select {
			case job = <-w.jobs:
			case <-w.closed: // jobs are done as before, by new ones
			}
		}
		w.resting.Add(-1)
	}
}

// sendHome ends those that rest now. Where there is much to do others take
// their place soon enough.
func (w *workers) stopIdle() {
	w.armed.Store(false)
	for {
		select {
		case w.jobs <- nil:
		default:
			return
		}
	}
}
