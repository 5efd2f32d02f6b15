package restart

import (
	"cmp"
	"fmt"
	"time"
)

// A Backoff computes the delay before a restart. It neither waits nor starts
// anything, and is not safe for concurrent use. The zero value delays restarts
// by 1, 2, 4 … 30 s, resets after a run of a minute, and gives up after 5
// starts within a minute.
type Backoff struct {
	// First is the first delay, and Max the longest; each delay is twice the
	// one before. 0 means 1 s and 30 s.
	First, Max time.Duration

	// Limit is how many starts within Window are allowed. 0 means 5 starts in
	// 60 s; a negative Limit means any number.
	Limit  int
	Window time.Duration

	// Stable is how long a run must last to reset the Backoff. 0 means 60 s.
	Stable time.Duration

	starts []time.Time // the last ones, oldest first, at most Limit
	delays int         // since the last stable run
}

// Started records a start.
func (b *Backoff) Started(now time.Time) {
	b.starts = append(b.starts, now)
	if most := max(b.limit(), 1); len(b.starts) > most {
		b.starts = append(b.starts[:0], b.starts[len(b.starts)-most:]...)
	}
}

// Ended returns the delay before the next start, after the last start failed or
// its process ended. It reports false if there should be no next start.
func (b *Backoff) Ended(now time.Time) (delay time.Duration, ok bool) {
	if n := len(b.starts); n > 0 && now.Sub(b.starts[n-1]) >= cmp.Or(max(b.Stable, 0), time.Minute) {
		b.Reset()
	}
	limit := b.limit()
	if limit > 0 && len(b.starts) >= limit && now.Sub(b.starts[len(b.starts)-limit]) < b.window() {
		return 0, false
	}
	delay = cmp.Or(max(b.First, 0), time.Second)
	longest := cmp.Or(max(b.Max, 0), 30*time.Second)
	for range b.delays {
		if delay >= longest {
			break
		}
		delay *= 2
	}
	b.delays++
	return min(delay, longest), true
}

// Reset forgets all starts, as a stable run does.
func (b *Backoff) Reset() { b.starts, b.delays = nil, 0 }

// reason says why Ended reported false.
func (b *Backoff) reason() string {
	return fmt.Sprintf("the server ended %d times within %v", b.limit(), b.window())
}

func (b *Backoff) limit() int            { return cmp.Or(b.Limit, 5) }
func (b *Backoff) window() time.Duration { return cmp.Or(max(b.Window, 0), time.Minute) }
