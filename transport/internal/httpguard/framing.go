package httpguard

import (
	"bytes"
	"strings"
)

// A framing parses the frames of the requests on one HTTP/1 connection and finds
// bytes that two parsers could read differently. Other errors are left to
// net/http.
//
//	request line → header lines → empty line ─┬→ next request
//	                                          ├→ body of a length ──────→ next request
//	                                          └→ chunk size ⇄ chunk, its line end
//	                                               └→ trailer lines → empty line → next request
type framing struct {
	left    int64  // in a head, the length of the body; in a body, the rest of it
	partial []byte // of an incomplete line: the end of a request line, the beginning of others

	at        position
	used      bool // a request has begun on this connection
	cr        bool // the last byte was CR, so LF must follow
	begun     bool // a part of the line was read
	notHTTP11 bool // the request is not HTTP/1.1
	sized     bool // the length is known
	chunked   bool // the body is chunked
}

type position uint8

const (
	requestLine position = iota
	headerLine
	body
	chunkSize
	chunkData
	chunkEnd
	trailerLine
	notHTTP1 // the connection is not HTTP/1
)

// maxPartial bounds the stored part of a line. A longer line with the length of a
// body is refused.
const maxPartial = 128

// between reports whether one request has ended and the next has not begun.
func (f *framing) between() bool { return f.at == requestLine && f.used && !f.begun && !f.cr }

// check parses the next bytes and returns how many of them are unambiguous.
func (f *framing) check(b []byte) (good int) {
	for at := 0; at < len(b); {
		rest := b[at:]
		switch f.at {
		case notHTTP1:
			return len(b)
		case body, chunkData:
			n := min(f.left, int64(len(rest)))
			at += int(n)
			if f.left -= n; f.left == 0 {
				f.endBody()
			}
			continue
		case requestLine:
			if !f.used && !f.begun && rest[0] == tlsRecord {
				f.at = notHTTP1
				continue
			}
		}
		end := bytes.IndexByte(rest, '\n')
		piece := rest[:end+1]
		if end < 0 {
			piece = rest
		}
		if !f.checkEnding(piece, end >= 0) {
			return at
		}
		if end < 0 {
			f.keepPartial(piece)
		} else if !f.line(piece) {
			return at
		}
		at += len(piece)
	}
	return len(b)
}

func (f *framing) endBody() {
	if f.at == chunkData {
		f.at = chunkEnd
		return
	}
	f.at = requestLine
}

// checkEnding checks a piece of a line: a line does not begin with white space,
// which would continue the line before, contains no CR, and ends with CR LF.
func (f *framing) checkEnding(piece []byte, ended bool) bool {
	if !f.begun && (piece[0] == ' ' || piece[0] == '\t') {
		return false
	}
	switch i := bytes.IndexByte(piece, '\r'); {
	case f.cr: // only LF is missing
		f.cr = false
		return ended && len(piece) == 1
	case i < 0:
		return !ended
	case ended:
		return i == len(piece)-2
	default:
		f.cr = i == len(piece)-1
		return f.cr
	}
}

// keepPartial stores what is needed of an incomplete line.
func (f *framing) keepPartial(piece []byte) {
	f.begun = true
	if f.at != requestLine {
		f.partial = append(f.partial, piece[:min(len(piece), maxPartial-len(f.partial))]...)
		return
	}
	piece = piece[max(0, len(piece)-maxPartial/2):]
	if more := len(f.partial) + len(piece) - maxPartial/2; more > 0 {
		f.partial = f.partial[:copy(f.partial, f.partial[more:])]
	}
	f.partial = append(f.partial, piece...)
}

// tlsRecord is the first byte of a TLS connection.
const tlsRecord = 0x16

// line parses a complete line, which ends with piece.
func (f *framing) line(piece []byte) bool {
	if f.begun {
		long := len(f.partial)+len(piece) > maxPartial
		f.keepPartial(piece)
		piece = f.partial
		if long && f.at != requestLine {
			piece = append(piece, tooLong...)
		}
		f.partial, f.begun = nil, false
	}
	line := bytes.TrimSuffix(piece, crlf)
	switch f.at {
	case requestLine:
		return f.request(line)
	case headerLine:
		if len(line) == 0 {
			return f.endHead()
		}
		return f.header(line)
	case chunkSize:
		return f.chunk(line)
	case chunkEnd:
		f.at = chunkSize
		return len(line) == 0
	case trailerLine:
		if len(line) == 0 {
			f.at = requestLine
			return true
		}
		return f.header(line)
	}
	return true
}

var (
	crlf    = []byte("\r\n")
	tooLong = []byte("\x00\r\n") // in position of the rest of a line; no value has it in it
)

func (f *framing) request(line []byte) bool {
	if len(line) == 0 {
		return true // net/http checks empty lines
	}
	if !f.used && string(line) == "PRI * HTTP/2.0" {
		f.at = notHTTP1 // HTTP/2 frames are unambiguous
		return true
	}
	f.used, f.at = true, headerLine
	f.notHTTP11 = !bytes.HasSuffix(line, []byte(" HTTP/1.1"))
	f.sized, f.chunked, f.left = false, false, 0
	return true
}

// header parses a header line. The length of the body may be given once, in one
// way.
func (f *framing) header(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 || colon >= maxPartial { // as if only the beginning of the line was stored
		return true // a long name, or a line that net/http refuses
	}
	name, value := line[:colon], line[colon+1:]
	switch {
	case colon == 0, name[colon-1] == ' ', name[colon-1] == '\t':
		return false
	case is(name, "Content-Length"):
		n, ok := number(bytes.Trim(value, " \t"), 10)
		differs := f.sized && n != f.left
		f.sized, f.left = true, n
		return ok && !differs && !f.chunked && len(line) < maxPartial
	case is(name, "Transfer-Encoding"):
		again := f.sized || f.chunked
		f.chunked = true
		return !again && !f.notHTTP11 && is(bytes.Trim(value, " \t"), "chunked") && len(line) < maxPartial
	}
	return true
}

func is(text []byte, name string) bool {
	return len(text) == len(name) && strings.EqualFold(string(text), name)
}

func (f *framing) endHead() bool {
	switch {
	case f.chunked:
		f.at = chunkSize
	case f.left > 0:
		f.at = body
	default:
		f.at = requestLine
	}
	return true
}

// chunk parses the line before a chunk: its size, and ignored extensions.
func (f *framing) chunk(line []byte) bool {
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, ok := number(bytes.TrimRight(size, " \t"), 16)
	f.at, f.left = chunkData, n
	if n == 0 {
		f.at = trailerLine
	}
	return ok
}

// number parses at most sixteen digits.
func number(text []byte, base int64) (n int64, ok bool) {
	for _, b := range text {
		d := base
		switch {
		case '0' <= b && b <= '9':
			d = int64(b - '0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			d = int64(b|0x20-'a') + 10
		}
		if d >= base || n > 1<<50 {
			return 0, false
		}
		n = n*base + d
	}
	return n, 0 < len(text) && len(text) <= 16
}
