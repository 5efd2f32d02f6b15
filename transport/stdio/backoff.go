package stdio

import (
	"cmp"
	"fmt"
	"time"
)

// A Backoff computes the delay before a restart. It neither waits nor starts
// anything, and is not safe for concurrent use. The zero value waits 1, 2, 4 …
// 30 s between starts, resets after a run of a minute, and gives up after 5
// starts within a minute.
type Backoff struct {
	// First is the first wait, and Max the longest; each wait is twice the
	// one before. 0 means 1 s and 30 s.
	First, Max time.Duration

	// Limit is how many starts Window may hold before no more are made. 0
	// means 5 starts in 60 s; a negative Limit means that it never gives up.
	Limit  int
	Window time.Duration

	// Stable is how long a run must last for all that went before to be
	// forgotten. 0 means 60 s.
	Stable time.Duration

	starts []time.Time // the last ones, oldest first, at most Limit
	waits  int         // how many waits were given since the last stable run
}

// Started records a start.
func (b *Backoff) Started(now time.Time) {
	b.starts = append(b.starts, now)
	if keep := max(b.limit(), 1); len(b.starts) > keep {
		b.starts = append(b.starts[:0], b.starts[len(b.starts)-keep:]...)
	}
}

// Ended says how long to wait before the next start, now that what was started
// last has ended or could not be started at all. It reports false if there
// should be no next start.
func (b *Backoff) Ended(now time.Time) (delay time.Duration, ok bool) {
	if n := len(b.starts); n > 0 && now.Sub(b.starts[n-1]) >= cmp.Or(max(b.Stable, 0), time.Minute) {
		b.Reset()
	}
	if b.exhausted(now) {
		return 0, false
	}
	delay = cmp.Or(max(b.First, 0), time.Second)
	longest := cmp.Or(max(b.Max, 0), 30*time.Second)
	for range b.waits {
		if delay >= longest {
			break
		}
		delay *= 2
	}
	b.waits++
	return min(delay, longest), true
}

// Reset forgets everything, as a stable run does.
func (b *Backoff) Reset() { b.starts, b.waits = nil, 0 }

// exhausted reports whether the last Limit starts lie within Window.
func (b *Backoff) exhausted(now time.Time) bool {
	limit := b.limit()
	return limit > 0 && len(b.starts) >= limit && now.Sub(b.starts[len(b.starts)-limit]) < b.window()
}

// reason says in words why Ended reported false.
func (b *Backoff) reason() string {
	return fmt.Sprintf("the server ended %d times within %v", b.limit(), b.window())
}

func (b *Backoff) limit() int {
	if b.Limit == 0 {
		return 5
	}
	return b.Limit
}

func (b *Backoff) window() time.Duration { return cmp.Or(max(b.Window, 0), time.Minute) }
