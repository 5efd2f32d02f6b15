package fs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// A span selects a part of a text. At most one of head, tail and offset is set.
type span struct {
	head, tail    int   // number of lines from the start or the end; 0 means unset
	offset, limit int   // first line and number of lines; 0 means the first line, and all
	from          int64 // first byte
}

// whole reports whether only the budget limits the text, which then keeps
// its final line break.
func (s span) whole() bool { return s.head == 0 && s.tail == 0 && s.limit == 0 }

// A piece is a part of a text and where to continue.
type piece struct {
	text      string
	firstLine int // 0 means unknown
	lastLine  int
	cut       bool  // the budget cut the text
	nextLine  int   // where to continue; 0 if the cut is within a line, or unknown
	nextByte  int64 // where to continue
}

// errBinary is the error for a file that is not text.
type errBinary struct{ why string }

func (e *errBinary) Error() string { return e.why }

// A cancellable is a file whose reads fail once the context ends.
type cancellable struct {
	ctx  context.Context
	file *os.File
}

func (c cancellable) ReadAt(b []byte, at int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.ReadAt(b, at)
}

// readText reads a span of a file, at most budget bytes, and holds no more
// than that in memory.
func readText(f io.ReaderAt, size int64, s span, budget int) (*piece, error) {
	if err := looksBinary(f, size); err != nil {
		return nil, err
	}
	p := &piece{}
	var err error
	switch {
	case s.tail > 0:
		s.from, err = tailStart(f, size, s.tail)
	case s.from == 0:
		p.firstLine = 1
	}
	if err != nil {
		return nil, err
	}
	if s.from > 0 {
		if s.from > size {
			return nil, fmt.Errorf("byteOffset is %d, but the file has only %d bytes", s.from, size)
		}
		if s.from, err = runeStart(f, s.from); err != nil {
			return nil, err
		}
		if s.from == 0 {
			p.firstLine = 1
		}
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, s.from, size-s.from), int(min(size-s.from+1, 64<<10)))
	at := s.from
	if s.offset > 1 {
		skipped, lines, more, err := skipLines(r, s.offset-1)
		if err != nil {
			return nil, err
		}
		if !more {
			return nil, fmt.Errorf("offset is %d, but the file has only %d lines", s.offset, lines)
		}
		at += skipped
		p.firstLine = s.offset
	}
	return p, p.fill(r, at, max(s.head, s.limit), s.whole(), budget)
}

// fill reads lines until it has enough or the budget is used up.
func (p *piece) fill(r *bufio.Reader, at int64, most int, whole bool, budget int) error {
	var text []byte
	lines := 0
	for most == 0 || lines < most {
		line, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) && len(text)+len(line) <= budget {
			text, at = append(text, line...), at+int64(len(line))
			line, err = r.ReadSlice('\n')
		}
		if len(line) > 0 && len(text)+len(line) > budget {
			p.cutAt(text, line, at, lines, budget)
			break
		}
		text, at = append(text, line...), at+int64(len(line))
		if len(line) > 0 || err == nil {
			lines++
		}
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return plain(err)
		}
	}
	if !p.cut {
		if p.firstLine > 0 {
			p.lastLine = p.firstLine + max(lines, 1) - 1
		}
		if !whole {
			text = bytes.TrimSuffix(text, []byte("\n"))
		}
		p.text = string(text)
	}
	if strings.IndexByte(p.text, 0) >= 0 { // the start looked like text
		return &errBinary{"it is binary (this part contains zero bytes)"}
	}
	if !utf8.ValidString(p.text) {
		return &errBinary{"it is not valid UTF-8 (binary, or text in another encoding)"}
	}
	return nil
}

// cutAt ends a piece at the budget: before the line that does not fit, or
// within it if it is the first.
func (p *piece) cutAt(text, line []byte, at int64, lines, budget int) {
	p.cut, p.nextByte = true, at
	start := bytes.LastIndexByte(text, '\n') + 1
	if start == 0 { // not even one line fits
		room := budget - len(text)
		for room > 0 && room < len(line) && !utf8.RuneStart(line[room]) {
			room--
		}
		text = append(text, line[:min(room, len(line))]...)
		p.nextByte = at + int64(min(room, len(line)))
		p.text, p.lastLine = string(text), p.firstLine
		return
	}
	p.nextByte -= int64(len(text) - start)
	p.text = string(text[:start])
	if p.firstLine > 0 {
		p.lastLine = p.firstLine + lines - 1
		p.nextLine = p.lastLine + 1
	}
}

// skipLines skips n lines. It returns the numbers of bytes and lines skipped
// and whether another line follows.
func skipLines(r *bufio.Reader, n int) (passed int64, lines int, more bool, err error) {
	open := false // a line has begun
	for lines < n {
		part, err := r.ReadSlice('\n')
		passed += int64(len(part))
		switch {
		case err == nil:
			lines, open = lines+1, false
		case errors.Is(err, bufio.ErrBufferFull):
			open = true
		case err == io.EOF:
			if open || len(part) > 0 {
				lines++
			}
			return passed, lines, false, nil
		default:
			return passed, lines, false, plain(err)
		}
	}
	_, err = r.Peek(1)
	return passed, lines, err == nil, nil
}

// tailStart returns the offset of the last n lines. A line break at the end
// of the file does not begin another line.
func tailStart(f io.ReaderAt, size int64, n int) (int64, error) {
	buf := make([]byte, 256<<10)
	for end := size; end > 0; {
		start := max(0, end-int64(len(buf)))
		part := buf[:end-start]
		if _, err := f.ReadAt(part, start); err != nil && err != io.EOF {
			return 0, plain(err)
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if start+int64(i) == size-1 {
				continue
			}
			if n--; n == 0 {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}

// runeStart returns the start of the UTF-8 sequence that contains the byte
// at the offset.
func runeStart(f io.ReaderAt, at int64) (int64, error) {
	var buf [utf8.UTFMax]byte
	n, err := f.ReadAt(buf[:1], at)
	for back := int64(0); n == 1 && back < utf8.UTFMax; back++ {
		if utf8.RuneStart(buf[0]) {
			return at - back, nil
		}
		if at-back == 0 {
			break
		}
		n, err = f.ReadAt(buf[:1], at-back-1)
	}
	if err != nil && err != io.EOF {
		return 0, plain(err)
	}
	return at, nil
}

// looksBinary returns an error if the start of a file is not text.
func looksBinary(f io.ReaderAt, size int64) error {
	start := make([]byte, min(size, 8<<10))
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return plain(err)
	}
	return binary(start[:n])
}

func binary(start []byte) error {
	switch {
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return &errBinary{"it is UTF-16, not UTF-8"}
	case bytes.IndexByte(start, 0) >= 0:
		return &errBinary{"it is binary (it contains zero bytes)"}
	}
	return nil
}

// asText adds the name and advice to an errBinary.
func asText(name string, err error) error {
	if b, ok := errors.AsType[*errBinary](err); ok {
		return fmt.Errorf("%s cannot be read as text: %s. Use read_media_file for its bytes", name, b.why)
	}
	return err
}
