// Package notifyqueue holds messages that wait for one receiver. Everything in
// Tenon that queues notifications uses it, so there is one rule for a slow
// receiver:
//
//   - Changes are merged: a [Change] whose key is already queued is not added.
//   - Old progress is dropped: at most the newest [MaxWaiting] items and
//     [MaxBytes] of [Progress] are queued.
//   - Old log messages are dropped by the same limits.
//   - A [Response] is never dropped. Responses, errors and requests are of this
//     kind; their number is limited where they are made.
//
// If there are more than [MaxWaiting] different changes, the queue drops some
// and reports it, and its owner ends the subscription: the client subscribes
// again and reads the current state.
package notifyqueue

import "slices"

// A Kind decides what a full queue does with a message.
type Kind uint8

const (
	Response Kind = iota // never dropped
	Change               // merged with a queued one of the same key
	Progress             // the oldest is dropped
	Log                  // the oldest is dropped
)

// Limits for each of the kinds Change, Progress and Log. A single message is
// queued whatever its size.
const (
	MaxWaiting = 1024
	MaxBytes   = 1 << 20
)

// An Item is a queued message.
type Item[T any] struct {
	Kind  Kind
	Key   string // identifies a change; empty for other kinds and for a unique change
	Size  int    // in bytes
	Value T
}

// A Message is an Item that is encoded when it is sent.
type Message = Item[func(dst []byte) []byte]

// Pending is an ordered queue for one receiver. It is not safe for
// concurrent use; [Queue] is.
type Pending[T any] struct {
	items []Item[T]
	keys  map[string]struct{} // of the changes; nil while there are few items
	count [Log + 1]int32      // number of queued items of each kind
	bytes [Log + 1]int32
	lost  bool
}

// newPending returns a Pending with room for one item, which is often enough.
func newPending[T any]() *Pending[T] {
	p := new(struct {
		Pending[T]
		first [1]Item[T]
	})
	p.items = p.first[:0]
	return &p.Pending
}

// fewItems is the number of items that are searched linearly for a key.
const fewItems = 32

// Len returns the number of queued items.
func (p *Pending[T]) Len() int { return len(p.items) }

// Lost reports whether a change was dropped because there were too many.
func (p *Pending[T]) Lost() bool { return p.lost }

// Add adds an item by the rule of the package.
func (p *Pending[T]) Add(it Item[T]) {
	switch it.Kind {
	case Change:
		if it.Key != "" && p.has(it.Key) {
			return
		}
		if p.count[Change] >= MaxWaiting {
			p.lost = true
			return
		}
	case Progress, Log:
		for p.count[it.Kind] >= MaxWaiting || p.count[it.Kind] > 0 && int(p.bytes[it.Kind])+it.Size > MaxBytes {
			p.dropOldest(it.Kind)
		}
	}
	p.count[it.Kind]++
	if it.Kind != Response { // responses have no size limit
		p.bytes[it.Kind] += int32(min(it.Size, MaxBytes))
	}
	p.items = append(p.items, it)
	p.index(it)
}

// has reports whether a change with this key is queued.
func (p *Pending[T]) has(key string) bool {
	if p.keys != nil {
		_, ok := p.keys[key]
		return ok
	}
	return slices.ContainsFunc(p.items, func(it Item[T]) bool { return it.Kind == Change && it.Key == key })
}

// index indexes the key of an item once there are many.
func (p *Pending[T]) index(it Item[T]) {
	switch {
	case p.keys != nil && it.Kind == Change:
		p.keys[it.Key] = struct{}{}
	case p.keys == nil && len(p.items) > fewItems:
		p.keys = map[string]struct{}{}
		for _, it := range p.items {
			if it.Kind == Change {
				p.keys[it.Key] = struct{}{}
			}
		}
	}
}

func (p *Pending[T]) dropOldest(k Kind) {
	i := slices.IndexFunc(p.items, func(it Item[T]) bool { return it.Kind == k })
	p.count[k]--
	p.bytes[k] -= int32(min(p.items[i].Size, MaxBytes))
	p.items = slices.Delete(p.items, i, i+1)
}

// Take returns the queued items and empties the queue.
func (p *Pending[T]) Take() []Item[T] {
	items := p.items
	*p = Pending[T]{lost: p.lost}
	return items
}
