package clientcall

import "sync"

// Detached holds a subscription that its Handler has left open. Its Add is the
// [mcp.Call].Detach of the call.
type Detached struct {
	mu       sync.Mutex
	stops    []func()
	any      bool // Add was called
	finished bool // Stop was called
}

// Add takes what ends the subscription, or a part of it. After Stop it calls
// stop at once.
func (d *Detached) Add(stop func()) {
	d.mu.Lock()
	over := d.finished
	d.any = true
	if !over {
		d.stops = append(d.stops, stop)
	}
	d.mu.Unlock()
	if over {
		stop()
	}
}

// Any reports whether the Handler has detached.
func (d *Detached) Any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.any
}

// Stop ends the subscription. It may be called more than once.
func (d *Detached) Stop() {
	d.mu.Lock()
	stops := d.stops
	d.stops, d.finished = nil, true
	d.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}
