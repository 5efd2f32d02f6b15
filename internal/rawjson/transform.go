package rawjson

import (
	"bytes"
	"slices"
)

// AppendCanonical appends a checked value in a canonical form, equal for
// equal values: members sorted by name, no white space, one form for each
// string. Numbers are not changed. Nil counts as an empty object.
func AppendCanonical(dst, raw []byte) []byte {
	switch first(raw) {
	case 0:
		return append(dst, '{', '}')
	case '{':
		return appendSorted(dst, raw)
	case '[':
		dst = append(dst, '[')
		for i, e := 0, Array(raw); e.Next(); i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCanonical(dst, e.Value)
		}
		return append(dst, ']')
	case '"':
		s, _ := String(raw)
		return AppendString(dst, s)
	}
	return append(dst, bytes.TrimSpace(raw)...)
}

func appendSorted(dst, raw []byte) []byte {
	var members []Members
	for m := Object(raw); m.Next(); {
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b Members) int { return bytes.Compare(a.Name, b.Name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, string(m.Name)), ':')
		dst = AppendCanonical(dst, m.Value)
	}
	return append(dst, '}')
}

// AppendCompact appends raw as one line. Without a line break raw is
// appended unchanged; otherwise all white space between tokens is removed. A
// raw line break in a string, which checked JSON does not have, is escaped.
func AppendCompact(dst, raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(dst, raw...)
	}
	done := 0
	for i := 0; i < len(raw); {
		switch b := raw[i]; {
		case b == '"':
			end := skipString(raw, i+1)
			dst = appendLine(append(dst, raw[done:i]...), raw[i:end])
			i, done = end, end
		case isSpace(b):
			dst = append(dst, raw[done:i]...)
			i = space(raw, i)
			done = i
		default:
			i++
		}
	}
	return append(dst, raw[done:]...)
}

// appendLine appends a quoted string with its raw line breaks escaped.
func appendLine(dst, s []byte) []byte {
	for {
		i := bytes.IndexAny(s, "\r\n")
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		if s[i] == '\n' {
			dst = append(dst, '\\', 'n')
		} else {
			dst = append(dst, '\\', 'r')
		}
		s = s[i+1:]
	}
}

// Inside returns the text between the braces of a checked object, without
// white space around it. It is empty for an empty object, nil, and any other
// value. Use it to write the members of an object into another.
func Inside(obj []byte) []byte {
	i := space(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		return nil
	}
	i = space(obj, i+1)
	end := len(obj)
	for end > i && isSpace(obj[end-1]) {
		end--
	}
	if end--; end <= i {
		return nil
	}
	for end > i && isSpace(obj[end-1]) {
		end--
	}
	return obj[i:end]
}

// Cut calls take for every member of a checked object and returns the object
// without those for which take returns true: the object itself if there are
// none, nil if they are all.
func Cut(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, false) }

// CutOwn is like Cut for an object that the caller owns and no longer needs.
// If only the first and last members are taken, as is usual for envelopes,
// nothing is copied: the object is shortened in place. The taken values are
// not changed.
func CutOwn(obj []byte, take func(name, value []byte) bool) []byte { return cut(obj, take, true) }

func cut(obj []byte, take func(name, value []byte) bool, owned bool) []byte {
	var rest []byte // the remaining members, once one between others was taken
	taken, gap := false, false
	first, last := 0, 0 // the span of the members that follow each other
	for m := Object(obj); m.Next(); {
		switch {
		case take(m.Name, m.Value):
			taken, gap = true, last > 0
		case last == 0:
			first, last = m.Start, m.End
		case !gap:
			last = m.End
		default:
			if rest == nil {
				rest = append(append(make([]byte, 0, len(obj)), '{'), obj[first:last]...)
			}
			rest = append(append(rest, ','), obj[m.Start:m.End]...)
		}
	}
	switch {
	case !taken:
		return obj
	case rest != nil:
		return append(rest, '}')
	case last == 0:
		return nil
	case owned:
		obj[first-1], obj[last] = '{', '}' // where a bracket, a comma or a space was
		return obj[first-1 : last+1 : last+1]
	}
	rest = append(append(make([]byte, 0, last-first+2), '{'), obj[first:last]...)
	return append(rest, '}')
}
