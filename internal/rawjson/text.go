package rawjson

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// The same byte in all eight places of a word.
const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	quotes = '"' * ones
	slants = '\\' * ones
	spaces = ' ' * ones
)

// special marks, with its high bit, the lowest byte of x that is a quote, a
// backslash or a control character. Marks above the lowest may be false.
func special(x uint64) uint64 {
	return ((x - spaces) | ((x ^ quotes) - ones) | ((x ^ slants) - ones)) &^ x & highs
}

// stringEnd checks the string whose opening quote is before data[i] and
// returns the index past its closing quote. Quotes and backslashes are never
// part of a longer UTF-8 sequence, so these are looked at when the end is known.
func stringEnd(data []byte, i int) (end int, escaped bool, bad *SyntaxError) {
	start, seen := i, uint64(0) // the bytes so far, or-ed together
	for {
		for i+8 <= len(data) {
			x := binary.LittleEndian.Uint64(data[i : i+8])
			m := special(x)
			if m == 0 {
				seen |= x
				i += 8
				continue
			}
			seen |= x & (m&-m - 1)
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		if i >= len(data) {
			return i, escaped, fault(i, "unexpected end inside a string")
		}
		switch b := data[i]; {
		case b == '"':
			if seen&highs != 0 {
				bad = checkUTF8(data, start, i)
			}
			return i + 1, escaped, bad
		case b == '\\':
			escaped = true
			if i, bad = escapeEnd(data, i); bad != nil {
				return i, true, bad
			}
		case b < ' ':
			return i, escaped, fault(i, "unescaped control character 0x%02x in a string", b)
		default: // one of the last eight bytes
			seen |= uint64(b)
			i++
		}
	}
}

func checkUTF8(data []byte, start, end int) *SyntaxError {
	if utf8.Valid(data[start:end]) {
		return nil
	}
	for i := start; ; {
		r, n := utf8.DecodeRune(data[i:end])
		if r == utf8.RuneError && n <= 1 {
			return fault(i, "the byte 0x%02x is not valid UTF-8", data[i])
		}
		i += n
	}
}

// escapeEnd checks the escape whose backslash is data[i]. Both halves of a
// surrogate pair count as one escape.
func escapeEnd(data []byte, i int) (int, *SyntaxError) {
	if i+1 >= len(data) {
		return i, fault(i, "unexpected end inside a string")
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
	default:
		return i, fault(i, "invalid escape: backslash before %s", shown(data, i+1))
	}
	unit, ok := hex4(data, i+2)
	switch {
	case !ok:
		return i, fault(i, `\u needs four hexadecimal digits`)
	case !utf16.IsSurrogate(unit):
		return i + 6, nil
	}
	if i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u' {
		if low, ok := hex4(data, i+8); ok && utf16.DecodeRune(unit, low) != utf8.RuneError {
			return i + 12, nil
		}
	}
	return i, fault(i, `\u%04x is an unpaired surrogate`, unit)
}

// hex4 reads four hexadecimal digits at data[i].
func hex4(data []byte, i int) (r rune, ok bool) {
	if i+4 > len(data) {
		return 0, false
	}
	for _, b := range data[i : i+4] {
		switch {
		case b-'0' <= 9:
			b -= '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}

// unescape decodes the escape whose backslash is in[i]. On bytes that were
// never checked it may give U+FFFD.
func unescape(in []byte, i int) (r rune, end int) {
	if i+1 >= len(in) {
		return utf8.RuneError, len(in)
	}
	switch b := in[i+1]; b {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case '"', '\\', '/':
		return rune(b), i + 2
	case 'u':
	default:
		return utf8.RuneError, i + 2
	}
	unit, ok := hex4(in, i+2)
	if !ok {
		return utf8.RuneError, i + 2
	}
	if !utf16.IsSurrogate(unit) {
		return unit, i + 6
	}
	if i+7 < len(in) && in[i+6] == '\\' && in[i+7] == 'u' {
		if low, ok := hex4(in, i+8); ok {
			return utf16.DecodeRune(unit, low), i + 12
		}
	}
	return utf8.RuneError, i + 6
}

// appendUnescaped appends the decoded inside of a checked string.
func appendUnescaped(dst, in []byte) []byte {
	for {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			return append(dst, in...)
		}
		dst = append(dst, in[:n]...)
		r, end := unescape(in, n)
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
		} else {
			dst = utf8.AppendRune(dst, r)
		}
		in = in[end:]
	}
}

// Quote quotes text from a peer for an error. It replaces the text after 64 bytes
// by an ellipsis.
func Quote[T string | []byte](text T) string {
	const most = 64
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", text[:cut])
}
