package uritemplate

import (
	"strings"
	"unicode/utf8"
)

// cut returns the first n characters of s; n of 0 means all of them.
func cut(s string, n int) string {
	if n == 0 || len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// appendEscaped appends s with every byte outside keep percent-encoded. With
// triplets it keeps percent-encoded bytes. Invalid UTF-8 becomes U+FFFD.
func appendEscaped(b []byte, s string, keep charset, triplets bool) []byte {
	const upperHex = "0123456789ABCDEF"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	for i := range len(s) {
		c := s[i]
		if keep.has(c) || triplets && triplet(s, i) {
			b = append(b, c)
			continue
		}
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
	}
	return b
}
