package streamable

import (
	"sync"
	"time"
)

// A pulse has streams on which nothing happens tell their clients that they are
// alive. All have the same rhythm, so who has waited longest is due first: a
// list and one timer do, however many there are.
type pulse struct {
	every time.Duration
	begun time.Time

	mu          sync.Mutex
	first, last *reply      // linked through reply.turn, the next that is due first
	timer       *time.Timer // runs while there are any
}

// A turn is the place of a reply in the list; guarded by pulse.mu.
type turn struct {
	before, after *reply
	due           time.Duration // since the pulse began; 0 if it is not in the list
}

// add has a stream be due after one period.
func (p *pulse) add(o *reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.turn = turn{before: p.last, due: time.Since(p.begun) + p.every}
	if p.last != nil {
		p.last.turn.after = o
	} else {
		p.first = o
		p.startLocked(p.every)
	}
	p.last = o
}

// remove forgets a stream, if it is there.
func (p *pulse) remove(o *reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(o)
	if p.first == nil && p.timer != nil {
		p.timer.Stop()
	}
}

func (p *pulse) removeLocked(o *reply) {
	if o.turn.due == 0 {
		return
	}
	before, after := o.turn.before, o.turn.after
	if before != nil {
		before.turn.after = after
	} else {
		p.first = after
	}
	if after != nil {
		after.turn.before = before
	} else {
		p.last = before
	}
	o.turn = turn{}
}

func (p *pulse) startLocked(in time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(in, p.beat)
	} else {
		p.timer.Reset(in)
	}
}

// beat gives those that are due their turn, each on a goroutine of its own: a
// client may be slow. They come back for the next.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for now := time.Since(p.begun); p.first != nil; {
		o := p.first
		if in := o.turn.due - now; in > 0 {
			p.startLocked(in)
			return
		}
		p.removeLocked(o)
		go o.comment()
	}
}
