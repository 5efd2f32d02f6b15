// Package mailbox delivers published messages to one subscriber.
package mailbox

import "sync"

// Bounds of what waits for a slow receiver.
const (
	maxWaiting = 1024
	maxBytes   = 8 << 20
)

// A Mailbox queues messages for one receiver and delivers them in order on a
// goroutine of its own. When too many wait, further ones are dropped and the
// receiver is told once, after those that were queued before.
type Mailbox struct {
	receive func([]byte)
	lost    func()

	mu     sync.Mutex
	wake   sync.Cond
	items  []item
	bytes  int
	closed bool
	done   chan struct{}
}

// An item is a message or, if lost is set, the place where some are missing.
type item struct {
	data []byte
	lost bool
}

// Open returns a Mailbox that calls receive and lost until it is closed.
func Open(receive func([]byte), lost func()) *Mailbox {
	m := &Mailbox{receive: receive, lost: lost, done: make(chan struct{})}
	m.wake.L = &m.mu
	go m.deliver()
	return m
}

// Put queues a message. The receiver owns data.
func (m *Mailbox) Put(data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.items) >= maxWaiting || m.bytes+len(data) > maxBytes && len(m.items) > 0 {
		m.markLost()
		return
	}
	m.items = append(m.items, item{data: data})
	m.bytes += len(data)
	m.wake.Signal()
}

// Lost records that messages may be missing here.
func (m *Mailbox) Lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.markLost()
}

func (m *Mailbox) markLost() {
	if n := len(m.items); n > 0 && m.items[n-1].lost {
		return
	}
	m.items = append(m.items, item{lost: true})
	m.wake.Signal()
}

// Close drops what waits and returns after a running callback has returned.
func (m *Mailbox) Close() {
	m.mu.Lock()
	m.closed, m.items = true, nil
	m.wake.Signal()
	m.mu.Unlock()
	<-m.done
}

func (m *Mailbox) deliver() {
	defer close(m.done)
	for {
		it, ok := m.next()
		switch {
		case !ok:
			return
		case it.lost:
			m.lost()
		default:
			m.receive(it.data)
		}
	}
}

func (m *Mailbox) next() (item, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.items) == 0 && !m.closed {
		m.wake.Wait()
	}
	if m.closed {
		return item{}, false
	}
	it := m.items[0]
	m.items[0] = item{}
	m.items = m.items[1:]
	m.bytes -= len(it.data)
	return it, true
}
