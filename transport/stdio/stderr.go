package stdio

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// How much is kept of a server's standard error, and how long a line of it may
// be before it is delivered in pieces.
const (
	keptStderr = 64 << 10
	lineStderr = 64 << 10
)

// A tail keeps the last bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	ring []byte // grows to its limit, then turns round
	next int    // where the next byte goes once the ring is full
}

// add writes p into the ring.
func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > keptStderr {
		p = p[len(p)-keptStderr:]
	}
	if room := keptStderr - len(t.ring); room > 0 {
		n := min(room, len(p))
		t.ring = append(t.ring, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(t.ring[t.next:], p)
		t.next = (t.next + n) % keptStderr
		p = p[n:]
	}
}

// String returns what is kept, oldest first. If something older was dropped,
// the first line may have lost its beginning.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := string(t.ring[t.next:]) + string(t.ring[:t.next])
	return strings.ToValidUTF8(kept, "\uFFFD")
}

// readStderr reads r to its end. Everything goes into kept at once, then each
// whole line to deliver, if there is one.
func readStderr(r io.Reader, kept *tail, deliver func(line string)) {
	cut := lineCutter{deliver: deliver}
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		kept.add(buf[:n])
		if deliver != nil {
			cut.add(buf[:n])
		}
		if err != nil {
			cut.end()
			return
		}
	}
}

// A lineCutter cuts what is added to it into lines.
type lineCutter struct {
	deliver func(line string)
	open    []byte // a line whose end has not come yet, at most lineStderr bytes
}

func (l *lineCutter) add(p []byte) {
	l.open = append(l.open, p...)
	rest := l.open
	for {
		switch i := bytes.IndexByte(rest, '\n'); {
		case i >= 0 && i <= lineStderr:
			l.emit(rest[:i])
			rest = rest[i+1:]
		case len(rest) > lineStderr:
			n := lineStderr
			for n > lineStderr-utf8.UTFMax && !utf8.RuneStart(rest[n]) {
				n--
			}
			l.emit(rest[:n])
			rest = rest[n:]
		default:
			l.open = append(l.open[:0], rest...)
			return
		}
	}
}

// end delivers a last line without a line end.
func (l *lineCutter) end() {
	if len(l.open) > 0 {
		l.emit(l.open)
	}
	l.open = nil
}

func (l *lineCutter) emit(line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	l.deliver(strings.ToValidUTF8(string(line), "\uFFFD"))
}
