package rawjson

import (
	"bytes"
	"strconv"
	"strings"
)

// Members iterates over the members of a checked object:
//
//	for m := rawjson.Object(raw); m.Next(); {
//		… m.Name, m.Value …
//	}
type Members struct {
	// Name is the decoded name: a slice of the object, or a copy if it was
	// written with escapes.
	Name []byte
	// Value is a slice of the object, without white space around it.
	Value []byte
	// Start and End are the offsets of the member in the object, from the opening
	// quote of the name to the end of the value.
	Start, End int

	raw    []byte
	quoted []byte // the name as it is written, inside its quotes
	at     int    // how far raw was read; 0 means that there is no object
}

// Object iterates over the members of raw; none if raw is not an object.
func Object(raw []byte) Members {
	i := space(raw, 0)
	if i < len(raw) && raw[i] == '{' {
		return Members{raw: raw, at: i + 1}
	}
	return Members{}
}

// Next advances to the next member and reports whether there is one.
func (m *Members) Next() bool {
	if !m.next() {
		return false
	}
	m.Name = m.quoted
	if bytes.IndexByte(m.quoted, '\\') >= 0 {
		m.Name = appendUnescaped(make([]byte, 0, len(m.quoted)), m.quoted)
	}
	return true
}

func (m *Members) next() bool {
	i, ok := m.name()
	if ok {
		m.value(i)
	}
	return ok
}

// name advances to the next name and returns the offset of its value.
func (m *Members) name() (at int, ok bool) {
	i := comma(m.raw, m.at)
	if i >= len(m.raw) || m.raw[i] != '"' {
		m.at = len(m.raw)
		return 0, false
	}
	m.Start = i
	end := skipString(m.raw, i+1)
	m.quoted = m.raw[i+1 : max(i+1, end-1)]
	i = space(m.raw, end)
	if i < len(m.raw) && m.raw[i] == ':' {
		i = space(m.raw, i+1)
	}
	return i, true
}

// value skips the value that begins at raw[i].
func (m *Members) value(i int) {
	m.at = skip(m.raw, i)
	m.End = m.at
	m.Value = m.raw[i:m.at]
}

// Elements iterates over the elements of a checked array.
type Elements struct {
	// Value is a slice of the array, without white space around it.
	Value []byte

	raw []byte
	at  int
}

// Array iterates over the elements of raw; none if raw is not an array.
func Array(raw []byte) Elements {
	i := space(raw, 0)
	if i < len(raw) && raw[i] == '[' {
		return Elements{raw: raw, at: i + 1}
	}
	return Elements{}
}

// Next advances to the next element and reports whether there is one.
func (e *Elements) Next() bool {
	i := comma(e.raw, e.at)
	if i >= len(e.raw) || e.raw[i] == ']' {
		e.at = len(e.raw)
		return false
	}
	e.at = skip(e.raw, i)
	e.Value = e.raw[i:e.at]
	return e.at > i
}

// comma skips white space and the comma before a member or element.
func comma(raw []byte, i int) int {
	i = space(raw, i)
	if i < len(raw) && raw[i] == ',' {
		i = space(raw, i+1)
	}
	return i
}

// Lookup returns the value of a member of a checked object, or nil if there is no
// such member or obj is not an object.
func Lookup(obj []byte, name string) []byte {
	for m := Object(obj); m.next(); {
		if equalUnescaped(m.quoted, name) {
			return m.Value
		}
	}
	return nil
}

// LookupIn is Lookup(Lookup(obj, outer), inner), without scanning to the end of
// the outer member.
func LookupIn(obj []byte, outer, inner string) []byte {
	for m := Object(obj); ; {
		i, ok := m.name()
		if !ok {
			return nil
		}
		if equalUnescaped(m.quoted, outer) {
			return Lookup(obj[i:], inner)
		}
		m.value(i)
	}
}

// IsObject reports whether the value raw is an object, by its first byte.
func IsObject(raw []byte) bool { return first(raw) == '{' }

// IsArray reports whether the value raw is an array, by its first byte.
func IsArray(raw []byte) bool { return first(raw) == '[' }

// IsString reports whether the value raw is a string, by its first byte.
func IsString(raw []byte) bool { return first(raw) == '"' }

// IsNull reports whether the value raw is null, by its first byte.
func IsNull(raw []byte) bool { return first(raw) == 'n' }

// first returns the first byte that is not white space, or 0.
func first(raw []byte) byte {
	if i := space(raw, 0); i < len(raw) {
		return raw[i]
	}
	return 0
}

// At returns the value at a JSON pointer in valid JSON.
func At(raw []byte, pointer string) (value []byte, ok bool) {
	if pointer == "" {
		return raw, raw != nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch {
		case IsObject(raw):
			raw = Lookup(raw, step)
		case IsArray(raw):
			raw = element(raw, step)
		default:
			raw = nil
		}
		if raw == nil {
			return nil, false
		}
	}
	return raw, true
}

func element(raw []byte, step string) []byte {
	n, err := strconv.Atoi(step)
	if err != nil || n < 0 {
		return nil
	}
	for e := Array(raw); e.Next(); n-- {
		if n == 0 {
			return e.Value
		}
	}
	return nil
}

// EscapePointer escapes a member's name for use as a step of a JSON pointer.
func EscapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
