package httpguard

import (
	"bytes"
	"strings"
)

// A framing follows the bytes of one HTTP/1 connection, request after request,
// and finds those about which two readers could differ. It knows where each
// request ends, and nothing else about it: what is wrong in a way that every
// reader sees is left to net/http, which refuses it.
//
//	request line → header lines → empty line ─┬→ next request
//	                                          ├→ body of a length ──────→ next request
//	                                          └→ chunk size ⇄ chunk, its line end
//	                                               └→ trailer lines → empty line → next request
type framing struct {
	left int64  // in a head, how long the body is to be; in a body, what is still to come
	kept []byte // of a line that is not complete yet: the end of a request line, the beginning of others

	at      place
	used    bool // a request has begun on this connection before
	cr      bool // the last byte was a CR, so that an LF has to follow
	begun   bool // some of the line was there already
	old     bool // the request is not of HTTP/1.1
	sized   bool // a length was said
	chunked bool // the body comes in chunks
}

type place uint8

const (
	requestLine place = iota
	headerLine
	body
	chunkSize
	chunkData
	chunkEnd
	trailerLine
	elsewhere // the connection does not speak HTTP/1
)

// maxKept bounds what is kept of a line. A line that says how long a body is
// and does not fit is refused.
const maxKept = 128

// between reports whether one request has ended and nothing of the next has
// come.
func (f *framing) between() bool { return f.at == requestLine && f.used && !f.begun && !f.cr }

// take looks at the bytes that came next and returns how many of them are
// good; fewer than all means that what follows them is not.
func (f *framing) take(b []byte) (good int) {
	for at := 0; at < len(b); {
		rest := b[at:]
		switch f.at {
		case elsewhere:
			return len(b)
		case body, chunkData:
			n := min(f.left, int64(len(rest)))
			at += int(n)
			if f.left -= n; f.left == 0 {
				f.bodyEnds()
			}
			continue
		case requestLine:
			if !f.used && !f.begun && rest[0] == tlsRecord {
				f.at = elsewhere
				continue
			}
		}
		end := bytes.IndexByte(rest, '\n')
		piece := rest[:end+1]
		if end < 0 {
			piece = rest
		}
		if !f.whole(piece, end >= 0) {
			return at
		}
		if end < 0 {
			f.keep(piece)
		} else if !f.line(piece) {
			return at
		}
		at += len(piece)
	}
	return len(b)
}

func (f *framing) bodyEnds() {
	if f.at == chunkData {
		f.at = chunkEnd
		return
	}
	f.at = requestLine
}

// whole checks a piece of a line, which may be all of it: a line does not begin
// with white space, which would make it part of the one before, has no CR in
// it, and ends with CR LF.
func (f *framing) whole(piece []byte, ended bool) bool {
	if !f.begun && (piece[0] == ' ' || piece[0] == '\t') {
		return false
	}
	switch i := bytes.IndexByte(piece, '\r'); {
	case f.cr: // all that is missing is the LF
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

// keep keeps what will be needed of a line whose rest is still to come.
func (f *framing) keep(piece []byte) {
	f.begun = true
	if f.at != requestLine {
		f.kept = append(f.kept, piece[:min(len(piece), maxKept-len(f.kept))]...)
		return
	}
	piece = piece[max(0, len(piece)-maxKept/2):]
	if more := len(f.kept) + len(piece) - maxKept/2; more > 0 {
		f.kept = f.kept[:copy(f.kept, f.kept[more:])]
	}
	f.kept = append(f.kept, piece...)
}

// tlsRecord begins a connection that speaks TLS, in which nothing can be seen.
const tlsRecord = 0x16

// line takes in a complete line; piece is what came last of it.
func (f *framing) line(piece []byte) bool {
	if f.begun {
		long := len(f.kept)+len(piece) > maxKept
		f.keep(piece)
		piece = f.kept
		if long && f.at != requestLine {
			piece = append(piece, tooLong...)
		}
		f.kept, f.begun = nil, false
	}
	line := bytes.TrimSuffix(piece, crlf)
	switch f.at {
	case requestLine:
		return f.request(line)
	case headerLine:
		if len(line) == 0 {
			return f.headEnds()
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
		return f.header(line) // and how long the body is was said already
	}
	return true
}

var (
	crlf    = []byte("\r\n")
	tooLong = []byte("\x00\r\n") // in place of the rest of a line; no value has it in it
)

func (f *framing) request(line []byte) bool {
	if len(line) == 0 {
		return true // net/http knows where an empty line may stand
	}
	if !f.used && string(line) == "PRI * HTTP/2.0" {
		f.at = elsewhere // HTTP/2 says where everything ends
		return true
	}
	f.used, f.at = true, headerLine
	f.old = !bytes.HasSuffix(line, []byte(" HTTP/1.1"))
	f.sized, f.chunked, f.left = false, false, 0
	return true
}

// header takes in a line of a head. What says how long the body is may be said
// once, in one way.
func (f *framing) header(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return true // a name that is very long, or a line that net/http refuses
	}
	name, value := line[:colon], line[colon+1:]
	switch {
	case colon == 0, name[colon-1] == ' ', name[colon-1] == '\t':
		return false
	case is(name, "Content-Length"):
		n, ok := number(bytes.Trim(value, " \t"), 10)
		differs := f.sized && n != f.left
		f.sized, f.left = true, n
		return ok && !differs && !f.chunked && len(line) < maxKept
	case is(name, "Transfer-Encoding"):
		again := f.sized || f.chunked
		f.chunked = true
		return !again && !f.old && is(bytes.Trim(value, " \t"), "chunked") && len(line) < maxKept
	}
	return true
}

func is(text []byte, name string) bool {
	return len(text) == len(name) && strings.EqualFold(string(text), name)
}

func (f *framing) headEnds() bool {
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

// chunk takes in the line before a chunk: a number, and extensions that nobody
// uses.
func (f *framing) chunk(line []byte) bool {
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, ok := number(bytes.TrimRight(size, " \t"), 16)
	f.at, f.left = chunkData, n
	if n == 0 {
		f.at = trailerLine
	}
	return ok
}

// number reads digits, and nothing but digits; sixteen are more than anybody
// needs.
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
