package stdio

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxStderr     = 64 << 10 // stored bytes of standard error
	maxStderrLine = 64 << 10 // longer lines are delivered in pieces
)

// A tail stores the last maxStderr bytes that were added to it.
type tail struct {
	mu   sync.Mutex
	ring []byte // grows to its limit, then wraps around
	next int    // the position of the next byte once the ring is full
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > maxStderr {
		p = p[len(p)-maxStderr:]
	}
	if room := maxStderr - len(t.ring); room > 0 {
		n := min(room, len(p))
		t.ring = append(t.ring, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(t.ring[t.next:], p)
		t.next = (t.next + n) % maxStderr
		p = p[n:]
	}
}

// String returns the stored bytes, oldest first; the first line may be cut.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := string(t.ring[t.next:]) + string(t.ring[:t.next])
	return strings.ToValidUTF8(kept, "\uFFFD")
}

// readStderr reads r to its end into kept, and calls deliver, if not nil, with
// each line.
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

// A lineCutter splits bytes into lines.
type lineCutter struct {
	deliver func(line string)
	open    []byte // an incomplete line, at most maxStderrLine bytes
}

func (l *lineCutter) add(p []byte) {
	l.open = append(l.open, p...)
	rest := l.open
	for {
		switch i := bytes.IndexByte(rest, '\n'); {
		case i >= 0 && i <= maxStderrLine:
			l.emit(rest[:i])
			rest = rest[i+1:]
		case len(rest) > maxStderrLine:
			n := maxStderrLine
			for n > maxStderrLine-utf8.UTFMax && !utf8.RuneStart(rest[n]) {
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

// end delivers a last line without a newline.
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
