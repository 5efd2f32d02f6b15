package streamable

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Goroutines that have served a call serve the next, never hold one up, and go
// home when there is nothing to do.
func TestWorkersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		defer w.close()
		var done sync.WaitGroup
		var ran atomic.Int32
		block := make(chan struct{})
		for range 3 * maxResting { // more than may rest, all at once
			done.Add(1)
			w.run(func() { defer done.Done(); ran.Add(1); <-block })
		}
		synctest.Wait()
		if n := ran.Load(); n != 3*maxResting {
			t.Errorf("%d of %d jobs run at once", n, 3*maxResting)
		}
		close(block)
		done.Wait()
		synctest.Wait()
		if n := w.resting.Load(); n != maxResting {
			t.Errorf("%d goroutines rest, want %d", n, maxResting)
		}
		ended := make(chan struct{})
		w.run(func() { close(ended) })
		<-ended
		synctest.Wait()
		if n := w.resting.Load(); n != maxResting {
			t.Errorf("%d goroutines rest after one more job, want %d", n, maxResting)
		}
		time.Sleep(2 * restTime)
		synctest.Wait()
		if n := w.resting.Load(); n != 0 {
			t.Errorf("%d goroutines still rest", n)
		}
		w.close()
		ended = make(chan struct{})
		w.run(func() { close(ended) }) // what comes late is done all the same
		<-ended
	})
}
