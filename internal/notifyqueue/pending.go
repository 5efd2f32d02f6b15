// Package notifyqueue holds messages that wait for one receiver. Everything in
// Tenon that queues notifications uses it, so there is one rule for a receiver
// that is slow:
//
//   - Changes are merged: a [Change] whose key already waits is not added again.
//   - Old progress is dropped: of [Progress] the newest [MaxWaiting], and not
//     more than [MaxBytes], wait.
//   - Old log messages are dropped by the same bounds.
//   - A [Response] is never dropped. Responses, errors and requests are of this
//     kind; their number is bounded where they are made.
//
// More than [MaxWaiting] different changes do not fit either. They cannot be
// dropped without a word, so the queue says that some were lost, and its owner
// ends the subscription: the client subscribes again and looks for itself.
package notifyqueue

import "slices"

// A Kind says what a full queue does with a message.
type Kind uint8

const (
	Response Kind = iota // never dropped
	Change               // merged with one of the same key
	Progress             // the oldest is dropped
	Log                  // the oldest is dropped
)

// Bounds for each of the kinds Change, Progress and Log. A single message is
// kept whatever its size.
const (
	MaxWaiting = 1024
	MaxBytes   = 1 << 20
)

// An Item is a message that waits.
type Item[T any] struct {
	Kind  Kind
	Key   string // what has changed; empty for other kinds, and for a change that is like no other
	Size  int    // in bytes
	Value T
}

// A Message is an Item that is encoded when it is sent.
type Message = Item[func(dst []byte) []byte]

// Pending is what waits for one receiver, in order. It is not safe for use by
// several goroutines; [Queue] is.
type Pending[T any] struct {
	items []Item[T]
	keys  map[string]struct{} // of the changes; nil while there are few items
	count [Log + 1]int32      // how many wait of each kind
	bytes [Log + 1]int32
	lost  bool
}

// newPending returns a Pending with room for one item: often there is no other.
func newPending[T any]() *Pending[T] {
	p := new(struct {
		Pending[T]
		first [1]Item[T]
	})
	p.items = p.first[:0]
	return &p.Pending
}

// fewItems is how many items are searched one by one for a key.
const fewItems = 32

// Len returns how many items wait.
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
	if it.Kind != Response { // whose sizes have no bound
		p.bytes[it.Kind] += int32(min(it.Size, MaxBytes))
	}
	p.items = append(p.items, it)
	p.index(it)
}

// has reports whether a change with this key waits.
func (p *Pending[T]) has(key string) bool {
	if p.keys != nil {
		_, ok := p.keys[key]
		return ok
	}
	return slices.ContainsFunc(p.items, func(it Item[T]) bool { return it.Kind == Change && it.Key == key })
}

// index adds the key of an item, once there are many.
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

// Take returns what waits and empties the queue.
func (p *Pending[T]) Take() []Item[T] {
	items := p.items
	*p = Pending[T]{lost: p.lost}
	return items
}
