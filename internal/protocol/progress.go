package protocol

import (
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// IncreasingProgress returns a function that passes notifications on to next,
// but drops progress that does not increase, as the protocol requires. It is
// safe for concurrent use: while next is running, only the latest progress
// waits.
func IncreasingProgress(next func(mcp.Notification)) func(mcp.Notification) {
	r := &increasingProgress{next: next}
	return r.notify
}

// increasingProgress tracks the progress of one call.
type increasingProgress struct {
	next func(mcp.Notification)

	mu         sync.Mutex
	last       float64
	started    bool
	delivering bool              // a goroutine is calling next
	waiting    *mcp.Notification // the notification to deliver next
}

func (r *increasingProgress) notify(n mcp.Notification) {
	if n.Method != mcp.NotificationProgress {
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
	defer func() { r.delivering = false }() // also if next panics
	for r.waiting != nil {
		next := *r.waiting
		r.waiting = nil
		r.pass(next)
	}
}

// pass calls next without holding the lock.
func (r *increasingProgress) pass(n mcp.Notification) {
	r.mu.Unlock()
	defer r.mu.Lock()
	r.next(n)
}
