package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// feedSize is the number of events kept for pages that reconnect.
const feedSize = 4096

// A feed keeps the latest events for pages to pull. Adding an event never blocks;
// a page that is too slow finds a gap and requests the whole state again.
type feed struct {
	mu      sync.Mutex
	events  []feedEvent // the last feedSize, in order
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
	f.next++
	if len(f.events) >= 2*feedSize {
		f.events = slices.Clone(f.events[len(f.events)-feedSize:])
	}
	for r := range f.readers {
		select {
		case r <- struct{}{}:
		default:
		}
	}
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
