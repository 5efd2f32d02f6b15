package mcp

import (
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// ProgressParams is the parameters of a [NoteProgress]. Which call it belongs
// to is known from where it arrives.
type ProgressParams struct {
	// Progress grows with every note of a call.
	Progress float64 `json:"progress"`
	// Total is what Progress will come to; 0 means that nobody knows.
	Total   float64 `json:"total,omitzero"`
	Message string  `json:"message,omitzero"`
}

// Rising returns a Side that passes on progress only while it rises, as the
// protocol wants it, and every other note. It may be called from many
// goroutines: while one report is passed on, of the others only the last waits.
func Rising(side func(Note)) func(Note) {
	r := &rise{side: side}
	return r.hear
}

// A rise is the progress of one call.
type rise struct {
	side func(Note)

	mu      sync.Mutex
	last    float64
	started bool
	telling bool  // a goroutine passes a report on
	waiting *Note // the one that it passes on next
}

func (r *rise) hear(n Note) {
	if n.Method != NoteProgress {
		r.side(n)
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
	if r.telling {
		return
	}
	r.telling = true
	defer func() { r.telling = false }() // also after a panic of side
	for r.waiting != nil {
		next := *r.waiting
		r.waiting = nil
		r.pass(next)
	}
}

// pass passes a report on without the lock.
func (r *rise) pass(n Note) {
	r.mu.Unlock()
	defer r.mu.Lock()
	r.side(n)
}
