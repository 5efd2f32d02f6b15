package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// Limits of the events that are kept for pages that reconnect.
const (
	feedSize  = 4096     // events
	feedBytes = 64 << 20 // of their data; the latest event is always kept
)

// A feed keeps the latest events for pages to pull. Adding an event never blocks;
// a page that is too slow finds a gap and requests the whole state again.
type feed struct {
	mu      sync.Mutex
	events  []feedEvent // the latest, in order
	bytes   int         // of their data
	next    uint64
	readers map[chan struct{}]bool
}

type feedEvent struct {
	seq  uint64
	kind string
	data json.RawMessage
}

func newFeed() *feed { return &feed{next: 1, readers: map[chan struct{}]bool{}} }

func (f *feed) put(kind string, v any) {
	data, err := mcp.Marshal(v)
	if err != nil {
		kind = "fault"
		data, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, feedEvent{f.next, kind, data})
	f.bytes += len(data)
	f.next++
	if len(f.events) >= 2*feedSize {
		f.drop(feedSize)
		f.events = slices.Clone(f.events)
	}
	for f.bytes > feedBytes && len(f.events) > 1 {
		f.drop(1)
	}
	for r := range f.readers {
		select {
		case r <- struct{}{}:
		default:
		}
	}
}

// drop removes the oldest n events. The lock is held.
func (f *feed) drop(n int) {
	for i := range f.events[:n] {
		f.bytes -= len(f.events[i].data)
		f.events[i] = feedEvent{} // the array outlives it
	}
	f.events = f.events[n:]
}

// since returns at most limit events after a number. Gap reports that some were
// dropped.
func (f *feed) since(seq uint64, limit int) (events []feedEvent, gap bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.events, seq+1, func(e feedEvent, n uint64) int {
		return cmp.Compare(e.seq, n)
	})
	rest := f.events[i:]
	gap = len(rest) > 0 && rest[0].seq != seq+1 || seq >= f.next
	return slices.Clone(rest[:min(limit, len(rest))]), gap
}

func (f *feed) last() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next - 1
}

// watch returns a channel that signals that events were added.
func (f *feed) watch() (<-chan struct{}, func()) {
	wake := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers[wake] = true
	return wake, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.readers, wake)
	}
}
