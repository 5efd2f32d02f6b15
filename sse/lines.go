package sse

import (
	"bytes"
	"io"
)

// lines splits a stream into lines that end with LF, CR LF or CR. It examines
// each byte a fixed number of times, however the bytes arrive.
type lines struct {
	r     io.Reader
	limit int // maximum length of a line
	err   error

	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	lf         int  // index of the next LF; less than start means unknown
	afterCR    bool // ignore an LF that comes next
}

// next returns the next line without its end. If own is true the line belongs
// to the caller; otherwise it is valid until the next call. An incomplete last
// line is dropped.
func (l *lines) next() (line []byte, own bool, err error) {
	var long []byte // the part of the line that has left the buffer
	for {
		if l.afterCR && l.start < l.end {
			l.afterCR = false
			if l.buf[l.start] == '\n' {
				l.start++
			}
		}
		part, ended := l.cut()
		if len(long)+len(part) > l.limit {
			l.err, l.start = &LimitError{Limit: l.limit}, l.end
			return nil, false, l.err
		}
		switch {
		case ended && long == nil:
			return part, false, nil
		case ended:
			return l.extend(long, part), true, nil
		case len(part) > 0:
			long = l.extend(long, part)
		}
		if err := l.fill(); err != nil {
			return nil, false, err
		}
	}
}

// cut removes a line from the buffer, or all of it if no line ends there.
func (l *lines) cut() (part []byte, ended bool) {
	if l.lf < l.start {
		l.lf = l.end
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.lf = l.start + i
		}
	}
	part = l.buf[l.start:l.lf]
	if i := bytes.IndexByte(part, '\r'); i >= 0 {
		l.start += i + 1
		l.afterCR = true
		return part[:i], true
	}
	ended = l.lf < l.end
	l.start = min(l.lf+1, l.end)
	return part, ended
}

// extend appends part to long. It doubles the capacity up to the limit.
func (l *lines) extend(long, part []byte) []byte {
	if need := len(long) + len(part); need > cap(long) {
		bigger := make([]byte, len(long), max(need, min(max(2*need, 1<<10), l.limit)))
		copy(bigger, long)
		long = bigger
	}
	return append(long, part...)
}

// fill reads into the empty buffer.
func (l *lines) fill() error {
	l.start, l.end, l.lf = 0, 0, -1
	for range 100 {
		if l.err != nil {
			return l.err
		}
		if l.end, l.err = l.r.Read(l.buf); l.end > 0 {
			return nil
		}
	}
	if l.err == nil {
		l.err = io.ErrNoProgress
	}
	return l.err
}
