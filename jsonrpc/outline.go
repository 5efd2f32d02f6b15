package jsonrpc

import (
	"bytes"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// An outline reads the id and the kind of a message that cannot be decoded
// because it is too long or not valid JSON. The message is added in pieces; an
// outline keeps at most MaxID bytes of it.
type outline struct {
	id       ID   // nil until found, and if it is invalid
	request  bool // it has a method
	response bool // it has a result or an error

	depth    int
	quoted   bool // inside a string
	escaped  bool // after a backslash
	isName   bool // the token is the name of a member
	ended    bool // nothing more can be found
	token    []byte
	name     string // of the member whose value is being read
	tooLarge bool   // the token has more than MaxID bytes
}

// outlineOf returns the outline of a whole message.
func outlineOf(message []byte) outline {
	var o outline
	o.add(message)
	return o
}

// isResponse reports whether the message is a response with an id.
func (o *outline) isResponse() bool { return o.id != nil && o.response && !o.request }

// add reads the next piece.
func (o *outline) add(piece []byte) {
	for i := 0; i < len(piece) && !o.ended; i++ {
		switch {
		case o.quoted && o.depth != 1 && !o.escaped && piece[i] != '"' && piece[i] != '\\':
			// Large strings are nested deeper: skip to what can end one.
			if n := bytes.IndexAny(piece[i:min(len(piece), i+256)], `"\`); n >= 0 {
				i += n - 1
			} else {
				i = min(len(piece), i+256) - 1
			}
		case o.quoted:
			o.inString(piece[i])
		default:
			o.outsideString(piece[i])
		}
	}
}

func (o *outline) inString(b byte) {
	if o.depth == 1 {
		o.keep(b)
	}
	switch {
	case o.escaped:
		o.escaped = false
	case b == '\\':
		o.escaped = true
	case b == '"':
		o.quoted = false
	}
}

func (o *outline) outsideString(b byte) {
	switch b {
	case ' ', '\t', '\r', '\n':
		return
	case '"':
		o.quoted = true
	case '{', '[':
		if o.depth == 0 && b == '[' {
			o.ended = true
			return
		}
		if o.depth++; o.depth == 1 {
			o.isName = true
		}
		return
	case '}', ']':
		o.value()
		o.depth--
	case ',':
		o.value()
		o.isName = o.depth == 1
		return
	case ':':
		o.member()
		return
	}
	if o.depth == 1 {
		o.keep(b)
	}
	o.ended = o.ended || o.depth <= 0
}

// keep appends a byte to the name or value that is being read.
func (o *outline) keep(b byte) {
	if len(o.token) == MaxID {
		o.tooLarge = true
		return
	}
	o.token = append(o.token, b)
}

// member handles the end of a name.
func (o *outline) member() {
	if o.depth != 1 || !o.isName {
		return
	}
	o.name = string(bytes.Trim(o.token, `"`))
	switch o.name {
	case "method":
		o.request = true
	case "result", "error":
		o.response = true
	}
	o.next()
}

// value handles the end of a value.
func (o *outline) value() {
	if o.depth != 1 || o.isName {
		return
	}
	if o.name == "id" && !o.tooLarge && rawjson.Check(o.token) == nil {
		if id, wrong := readID(o.token); wrong == "" {
			o.id = bytes.Clone(id)
		}
	}
	o.name = ""
	o.next()
}

// next starts the next name or value. Reading ends when everything is known.
func (o *outline) next() {
	o.token, o.tooLarge, o.isName = o.token[:0], false, false
	o.ended = o.id != nil && (o.request || o.response)
}
