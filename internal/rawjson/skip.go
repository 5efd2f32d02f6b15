package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// skip returns the index past the checked value that begins at raw[i].
func skip(raw []byte, i int) int {
	if i >= len(raw) {
		return i
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i+1)
	case '{', '[':
		return skipNested(raw, i)
	}
	for i < len(raw) {
		switch raw[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// bracket has the bits that all four brackets have, and that no other byte of
// JSON outside strings has all of. Those that close also have 0x04.
const bracket = 0x59 * ones

// skipNested returns the index past the object or array that begins at raw[i]. In
// checked JSON it is enough to count brackets outside strings. It does so for
// eight bytes at once without finding the end of each string, because most strings
// are short; only escapes, the end and long strings are handled separately.
func skipNested(raw []byte, i int) int {
	i++
	depth, quoted := 1, uint64(0) // quoted is 1 inside a string
	last := i                     // where the latest quote was seen
	for i < len(raw) {
		if i+8 <= len(raw) {
			x := binary.LittleEndian.Uint64(raw[i : i+8])
			w, ascii := x&^highs, ^x&highs
			quote := (highs - (w ^ quotes)) & ascii >> 7
			escape := (highs - (w ^ slants)) & ascii
			upto := quote * ones              // in each byte, the quotes up to it
			within := (upto ^ -quoted) & ones // an odd number: inside a string
			brackets := (w&bracket + highs - bracket) & ascii >> 7 &^ within
			count := int(brackets * ones >> 56)
			closing := int((brackets & (x >> 2)) * ones >> 56)
			if quote != 0 {
				last = i
			}
			if escape == 0 && closing < depth && i-last < 128 {
				depth += count - 2*closing
				quoted = (quoted ^ upto>>56) & 1
				i += 8
				continue
			}
			last = i
			if quoted != 0 { // whatever else there is, first comes the end of the string
				i, quoted = skipString(raw, i), 0
				continue
			}
		}
		for n := 0; n < 8 && i < len(raw); n, i = n+1, i+1 {
			switch b := raw[i]; {
			case b == '"':
				quoted ^= 1
			case quoted != 0 && b == '\\':
				i++
			case quoted != 0:
			case b == '{' || b == '[':
				depth++
			case b == '}' || b == ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return min(i, len(raw))
}

// skipString returns the index past the closing quote of the checked string whose
// opening quote is before raw[i].
func skipString(raw []byte, i int) int {
	for n := 0; n < 4 && i+8 <= len(raw); n++ { // most strings are short
		x := binary.LittleEndian.Uint64(raw[i : i+8])
		q, s := x^quotes, x^slants
		m := ((q-ones)&^q | (s-ones)&^s) & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if raw[i] == '"' {
			return i + 1
		}
		i += 2
	}
	start := min(i, len(raw))
	for i = start; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n
		back := i
		for back > start && raw[back-1] == '\\' {
			back--
		}
		i++
		if (i-1-back)%2 == 0 {
			return i
		}
	}
}
