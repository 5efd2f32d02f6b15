package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// String decodes a checked JSON string. If raw is another value, ok is false.
func String(raw []byte) (s string, ok bool) {
	in, ok := inside(raw)
	if !ok {
		return "", false
	}
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in), true
	}
	means := appendUnescaped(make([]byte, 0, len(in)), in)
	return unsafe.String(unsafe.SliceData(means), len(means)), true // the bytes are not shared
}

// EqualString reports whether raw is a checked JSON string with the value s.
func EqualString(raw []byte, s string) bool {
	in, ok := inside(raw)
	return ok && equalUnescaped(in, s)
}

// long is the length from which finding the end of a string again is avoided.
const long = 1 << 10

// inside returns the bytes between the quotes of a string.
func inside(raw []byte) (in []byte, ok bool) {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '"' {
		return nil, false
	}
	end := len(raw)
	if end-i > long && raw[end-1] == '"' { // nothing follows it, for raw was checked
		return raw[i+1 : end-1], true
	}
	end = skipString(raw, i+1)
	if end < i+2 || raw[end-1] != '"' {
		return nil, false
	}
	return raw[i+1 : end-1], true
}

// equalUnescaped compares the inside of a checked string with s.
func equalUnescaped(in []byte, s string) bool {
	// An escape is longer than its character, so a string of the same length is
	// equal only if it has none.
	if len(in) <= len(s) {
		return string(in) == s && bytes.IndexByte(in, '\\') < 0
	}
	var buf [utf8.UTFMax]byte
	for i := 0; i < len(in); {
		if in[i] != '\\' {
			if s == "" || s[0] != in[i] {
				return false
			}
			i, s = i+1, s[1:]
			continue
		}
		var r rune
		r, i = unescape(in, i)
		n := utf8.EncodeRune(buf[:], r)
		if len(s) < n || s[:n] != string(buf[:n]) {
			return false
		}
		s = s[n:]
	}
	return s == ""
}

// AppendString appends s as a JSON string. Bytes of s that are not valid UTF-8
// become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	return AppendQuoted(dst, unsafe.Slice(unsafe.StringData(s), len(s))) // which only reads it
}

// AppendQuoted is AppendString for bytes. They may be a part of dst.
func AppendQuoted(dst, in []byte) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(in); {
		if i+8 <= len(in) {
			x := binary.LittleEndian.Uint64(in[i : i+8])
			m := special(x) | x&highs
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		n := 1
		switch b := in[i]; {
		case b < ' ', b == '"', b == '\\':
			dst = appendEscape(append(dst, in[done:i]...), b)
			done = i + 1
		case b >= utf8.RuneSelf:
			var r rune
			if r, n = utf8.DecodeRune(in[i:]); r == utf8.RuneError && n == 1 {
				dst = append(append(dst, in[done:i]...), "\ufffd"...)
				done = i + 1
			}
		}
		i += n
	}
	return append(append(dst, in[done:]...), '"')
}

// appendEscape appends the shortest usual escape of a quote, a backslash or a
// control character.
func appendEscape(dst []byte, b byte) []byte {
	const hex = "0123456789abcdef"
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}
