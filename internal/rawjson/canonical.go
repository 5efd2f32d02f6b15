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
