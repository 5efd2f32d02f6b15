package cluster

import (
	"context"
	"sync"
)

// A slotKind distinguishes requests that are forwarded. Each kind has its own
// slots, so that streams, which last long, and broadcasts, which wait for the
// slowest replica, cannot take those of messages.
type slotKind int

const (
	messageSlot slotKind = iota
	streamSlot
	broadcastSlot
	slotKinds
)

// slots bounds the requests that are being forwarded in one direction: in all, and
// those of one client.
type slots struct {
	max, share int

	mu    sync.Mutex
	used  [slotKinds]int
	by    map[clientSlot]int
	freed chan struct{} // closed when a slot is freed; nil if nothing waits
}

type clientSlot struct {
	kind   slotKind
	client string
}

func newSlots(n int) *slots {
	return &slots{max: n, share: max(n/4, 1), by: map[clientSlot]int{}}
}

// take takes a slot for a request of a client. "" is a client that is unknown,
// whose requests are bounded with all others only. It reports false if there is
// no slot.
func (s *slots) take(kind slotKind, client string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(kind, client)
}

func (s *slots) takeLocked(kind slotKind, client string) bool {
	of := clientSlot{kind, client}
	if s.used[kind] >= s.max || client != "" && s.by[of] >= s.share {
		return false
	}
	s.used[kind]++
	if client != "" {
		s.by[of]++
	}
	return true
}

// wait takes a slot, and waits until there is one. It reports false if ctx ends
// first.
func (s *slots) wait(ctx context.Context, kind slotKind, client string) bool {
	for {
		s.mu.Lock()
		if s.takeLocked(kind, client) {
			s.mu.Unlock()
			return true
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

// free frees a slot.
func (s *slots) free(kind slotKind, client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[kind]--
	if of := (clientSlot{kind, client}); client != "" {
		if s.by[of]--; s.by[of] == 0 {
			delete(s.by, of)
		}
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// inUse returns the number of requests that are being forwarded.
func (s *slots) inUse() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, used := range s.used {
		n += used
	}
	return n
}

// A slot is one that a request takes.
type slot struct {
	of     *slots
	kind   slotKind
	client string
}

// take takes the slot. It reports false if there is none; a broadcast, which the
// client has no reason to repeat, waits for one as long as its sender does.
func (s *slot) take(ctx context.Context) bool {
	if s.kind != broadcastSlot {
		return s.of.take(s.kind, s.client)
	}
	ctx, cancel := context.WithTimeout(ctx, broadcastTimeout)
	defer cancel()
	return s.of.wait(ctx, s.kind, s.client)
}

func (s *slot) free() { s.of.free(s.kind, s.client) }

// becomeStream exchanges the slot of a message for that of a stream, if there is
// one.
func (s *slot) becomeStream() {
	if s.kind == messageSlot && s.of.take(streamSlot, s.client) {
		s.of.free(messageSlot, s.client)
		s.kind = streamSlot
	}
}
