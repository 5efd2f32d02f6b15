package mcp

import (
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// ProgressParams is the parameters of a [NotificationProgress]. Which call it belongs
// to is known from where it arrives.
type ProgressParams struct {
	// Progress grows with every note of a call.
	Progress float64 `json:"progress"`
	// Total is what Progress will come to; 0 means that nobody knows.
	Total   float64 `json:"total,omitzero"`
	Message string  `json:"message,omitzero"`
}

// IncreasingProgress returns a Side that passes on progress only while it rises, as the
// protocol wants it, and every other note. It may be called from many
// goroutines: while one report is passed on, of the others only the last waits.
func IncreasingProgress(side func(Notification)) func(Notification) {
	r := &increasingProgress{next: side}
	return r.notify
}

// A rise is the progress of one call.
type increasingProgress struct {
	next func(Notification)

	mu         sync.Mutex
	last       float64
	started    bool
	delivering bool          // a goroutine passes a report on
	waiting    *Notification // the one that it passes on next
}

func (r *increasingProgress) notify(n Notification) {
	if n.Method != NotificationProgress {
		r.next(n)
		return
	}
	done, err := strconv.ParseFloat(string(rawjson.Lookup(n.Params, "progress")), 64)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started && done <= r.last {
		return
	}
	r.last, r.started, r.waiting = done, true, &n
	if r.delivering {
		return
	}
	r.delivering = true
	defer func() { r.delivering = false }() // also after a panic of side
	for r.waiting != nil {
		next := *r.waiting
		r.waiting = nil
		r.pass(next)
	}
}

// pass passes a report on without the lock.
func (r *increasingProgress) pass(n Notification) {
	r.mu.Unlock()
	defer r.mu.Lock()
	r.next(n)
}
