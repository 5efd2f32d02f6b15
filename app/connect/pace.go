package connect

import (
	"sync"
	"sync/atomic"
	"time"
)

// A pacer slows down the reading of a server that sends far more messages than it
// is asked for, so that a flood costs the server and not this process: the server
// waits until its messages are read. Each call allows for framesPerCall messages;
// beyond that, framesPerSecond are read.
type pacer struct {
	credit atomic.Int64 // messages that may be read at once

	mu   sync.Mutex
	last time.Time // when credit was last added for the time that has passed
}

const (
	framesPerCall   = 100
	framesPerSecond = 1000
	maxCredit       = 1 << 20

	paceInterval = 10 * time.Millisecond
)

// asked records a call.
func (p *pacer) asked() {
	if p.credit.Load() < maxCredit {
		p.credit.Add(framesPerCall)
	}
}

// received records a message, and waits if there were too many.
func (p *pacer) received() {
	for p.credit.Add(-1) < 0 {
		p.credit.Add(1)
		if !p.refill() {
			time.Sleep(paceInterval)
		}
	}
}

// refill adds the credit for the time since the last refill, of a second at most.
func (p *pacer) refill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	passed := min(now.Sub(p.last), time.Second)
	if passed < paceInterval {
		return false
	}
	p.last = now
	p.credit.Add(int64(passed * framesPerSecond / time.Second))
	return true
}
