package wirelog

import (
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/redact"
)

// LogOptions configure a [Log]; nil means the defaults.
type LogOptions struct {
	// MaxMessages is the maximum number of messages kept. 0 means 100,000.
	MaxMessages int

	// MaxBytes is the maximum memory that they use together. 0 means 200 MB.
	// Of a frame larger than an eighth of it only the beginning is kept.
	MaxBytes int

	// Sinks receive every message after it was added, in order. They must
	// not block: see [Sink].
	Sinks []Sink

	// Unchecked disables the check against the specification.
	Unchecked bool

	// Secrets are removed from messages when they are read, and so are the
	// values of members with names like "password". Nil disables both. Sinks
	// always receive unredacted messages.
	Secrets *redact.Values
}

// A Sink receives messages as they are added to a Log. Add is called in the
// order of the log, one call at a time, while the log is locked: it must neither
// block nor call the log. A sink with a slow writer uses a [Queue].
type Sink interface {
	Add(m *speccheck.Message)
}

// A Log keeps the latest messages of any number of connections. It is safe for
// concurrent use.
type Log struct {
	opts LogOptions

	mu       sync.Mutex
	ring     []entry // ring[(head+i)%len(ring)] is the i-th oldest
	head, n  int
	next     uint64 // seq of the next message
	bytes    int
	conns    uint64
	watchers map[chan struct{}]struct{}
}

// An entry is a message in the ring.
type entry struct {
	speccheck.Message
	redacted int64 // secrets were removed from Frame: 1 + the count of changes to them then
}

// NewLog returns an empty log.
func NewLog(o *LogOptions) *Log {
	l := &Log{next: 1, watchers: map[chan struct{}]struct{}{}}
	if o != nil {
		l.opts = *o
	}
	if l.opts.MaxMessages <= 0 {
		l.opts.MaxMessages = 100_000
	}
	if l.opts.MaxBytes <= 0 {
		l.opts.MaxBytes = 200_000_000
	}
	return l
}

// Add adds a message, sets and returns its Seq, and drops the oldest messages
// beyond the limits. The log takes ownership of the frame. Connections use a
// [Wire]; Add is for messages from elsewhere, such as a recording.
func (l *Log) Add(m speccheck.Message) uint64 {
	if m.At.IsZero() {
		m.At = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addLocked(&m)
}

func (l *Log) addLocked(m *speccheck.Message) uint64 {
	m.Seq = l.next
	l.next++
	l.keepLocked(m)
	for _, s := range l.opts.Sinks {
		s.Add(m)
	}
	for w := range l.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return m.Seq
}

// keepLocked puts a message into the ring, without the end of a large frame.
func (l *Log) keepLocked(m *speccheck.Message) {
	kept := *m
	if limit := l.opts.MaxBytes / 8; len(kept.Frame) > limit {
		kept.Frame = append([]byte(nil), kept.Frame[:limit]...)
	}
	size := cost(&kept)
	for l.n > 0 && (l.n >= l.opts.MaxMessages || l.bytes+size > l.opts.MaxBytes) {
		l.dropLocked()
	}
	if l.n == len(l.ring) {
		l.growLocked()
	}
	l.ring[(l.head+l.n)%len(l.ring)] = entry{Message: kept}
	l.n++
	l.bytes += size
}

func (l *Log) dropLocked() {
	old := &l.ring[l.head]
	l.bytes -= cost(&old.Message)
	*old = entry{}
	l.head = (l.head + 1) % len(l.ring)
	l.n--
}

func (l *Log) growLocked() {
	bigger := make([]entry, min(max(64, 2*len(l.ring)), l.opts.MaxMessages))
	for i := range l.n {
		bigger[i] = l.ring[(l.head+i)%len(l.ring)]
	}
	l.ring, l.head = bigger, 0
}

// at returns the message with this number, or nil if it is not kept.
func (l *Log) at(seq uint64) *entry {
	first := l.next - uint64(l.n)
	if seq < first || seq >= l.next {
		return nil
	}
	return &l.ring[(l.head+int(seq-first))%len(l.ring)]
}

// change lets f modify a message in the ring and updates the memory count.
func (l *Log) change(seq uint64, f func(m *speccheck.Message)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changeLocked(seq, f)
}

func (l *Log) changeLocked(seq uint64, f func(m *speccheck.Message)) {
	if m := l.at(seq); m != nil {
		l.bytes -= cost(&m.Message)
		f(&m.Message)
		l.bytes += cost(&m.Message)
	}
}

// endLocked records the end of a request. A batch keeps its worst outcome.
func (l *Log) endLocked(e speccheck.Ended) {
	l.changeLocked(e.Seq, func(asked *speccheck.Message) {
		if asked.Kind == speccheck.KindBatch && asked.Outcome != "" && e.Outcome == speccheck.OutcomeOK {
			return
		}
		asked.Outcome, asked.Code, asked.Took = e.Outcome, e.Code, e.Took
	})
}

// Since returns at most limit messages after seq, oldest first; a limit of 0 or
// less means all. Gap reports that messages after seq were dropped already.
func (l *Log) Since(seq uint64, limit int) (ms []speccheck.Message, gap bool) {
	l.mu.Lock()
	first := l.next - uint64(l.n)
	from := max(seq+1, first)
	gap = seq+1 < first
	n := 0
	if from < l.next {
		n = int(l.next - from)
	}
	if limit > 0 {
		n = min(n, limit)
	}
	ms = make([]speccheck.Message, 0, n)
	for i := range n {
		ms = append(ms, l.at(from+uint64(i)).Message)
	}
	l.mu.Unlock()
	for i := range ms {
		l.read(&ms[i])
	}
	return ms, gap
}

// Get returns one message; ok is false if it was dropped.
func (l *Log) Get(seq uint64) (speccheck.Message, bool) {
	l.mu.Lock()
	m := l.at(seq)
	if m == nil {
		l.mu.Unlock()
		return speccheck.Message{}, false
	}
	found := m.Message
	l.mu.Unlock()
	l.read(&found)
	return found, true
}

// read prepares a message for a reader: it checks its shape and removes secrets.
// The log keeps the redacted frame until the known secrets change.
func (l *Log) read(m *speccheck.Message) {
	l.shape(m)
	if l.opts.Secrets == nil {
		return
	}
	now := l.opts.Secrets.Changes() + 1
	frame, done := l.redacted(m.Seq, now)
	if done {
		m.Frame = nil
	}
	*m = clean(m, l.opts.Secrets)
	if done {
		m.Frame = frame
		return
	}
	l.setRedacted(m.Seq, m.Frame, now)
}

// redacted returns the frame of a message if secrets were removed from it at this
// state of the known secrets.
func (l *Log) redacted(seq uint64, state int64) (frame []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.at(seq); e != nil && e.redacted == state {
		return e.Frame, true
	}
	return nil, false
}

func (l *Log) setRedacted(seq uint64, frame []byte, state int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.at(seq); e != nil {
		l.bytes -= cost(&e.Message)
		e.Frame, e.redacted = frame, state
		l.bytes += cost(&e.Message)
	}
}

// shape checks the shape of a message that is read for the first time: the check
// costs more than adding the message.
func (l *Log) shape(m *speccheck.Message) {
	if m.ShapeChecked || l.opts.Unchecked {
		return
	}
	found := speccheck.CheckShape(m)
	m.ShapeChecked = true
	if len(found) > 0 {
		m.Problems = append(m.Problems[:len(m.Problems):len(m.Problems)], found...)
	}
	seen := *m
	l.change(m.Seq, func(kept *speccheck.Message) {
		if !kept.ShapeChecked {
			kept.Problems, kept.ShapeChecked = seen.Problems, true
		}
	})
}

// Last returns the Seq of the newest message ever added, 0 if there is none.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1
}

// Len returns the number of messages kept.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// Clear removes all messages. Sequence numbers continue.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.head, l.n, l.bytes = nil, 0, 0, 0
}

// Watch returns a channel that signals that messages were added since the last
// receive. Read the messages with [Log.Since]. The caller must call stop.
func (l *Log) Watch() (wake <-chan struct{}, stop func()) {
	w := make(chan struct{}, 1)
	l.mu.Lock()
	l.watchers[w] = struct{}{}
	l.mu.Unlock()
	return w, func() {
		l.mu.Lock()
		delete(l.watchers, w)
		l.mu.Unlock()
	}
}
