package rawjson

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of objects and arrays.
const MaxDepth = 512

// A SyntaxError says where and why data is not strict JSON.
type SyntaxError struct {
	// Offset is the number of valid bytes before the error.
	Offset int
	// Reason names the error.
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

func fault(offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// Check reports whether data is exactly one strict value with nothing but
// white space around it. The error is a [*SyntaxError].
func Check(data []byte) error { return CheckMembers(data, nil) }

// CheckMembers is like [Check] and, if the value is an object, calls visit
// for each member in order. The name is decoded and valid only until visit
// returns; the value is a slice of data. Members are visited before the rest
// of data is checked, so they must not be used until CheckMembers returns
// nil. visit may be nil.
func CheckMembers(data []byte, visit func(name, value []byte)) error {
	c := takeChecker()
	end, bad := c.value(data, 0, visit)
	c.release()
	if bad == nil {
		if end = space(data, end); end < len(data) {
			bad = fault(end, "%s after the end of the value", shown(data, end))
		}
	}
	if bad != nil {
		return bad
	}
	return nil
}

// Scan checks the value that begins at data[i], or after white space there,
// and returns the index after it. It ignores the rest. The error is a
// [*SyntaxError] with an offset from the start of data.
func Scan(data []byte, i int) (end int, err error) {
	c := takeChecker()
	end, bad := c.value(data, i, nil)
	c.release()
	if bad != nil {
		return end, bad
	}
	return end, nil
}

// value checks one value. The outer loop runs once for each value that
// begins, the inner loop once for each that ends.
func (c *checker) value(data []byte, i int, visit func(name, value []byte)) (int, *SyntaxError) {
	if uint64(len(data)) > math.MaxInt32 {
		return 0, fault(0, "%d bytes are too many for one value", len(data))
	}
	var bad *SyntaxError
	first := 0 // where the latest value of the outermost object begins
	for {
		i = space(data, i)
		if len(c.levels) == 1 {
			first = i
		}
		if i >= len(data) {
			return i, fault(i, "unexpected end, expected a value")
		}
		switch b := data[i]; b {
		case '"':
			i, _, bad = stringEnd(data, i+1)
		case '{', '[':
			if len(c.levels) == MaxDepth {
				return i, fault(i, "nested deeper than %d levels", MaxDepth)
			}
			c.open(b == '{')
			i = space(data, i+1)
			if i < len(data) && data[i] == b+2 { // '}' is '{'+2, ']' is '['+2
				c.close()
				i++
				break
			}
			if b == '{' {
				if i, bad = c.name(data, i); bad != nil {
					return i, bad
				}
			}
			continue
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			i, bad = numberEnd(data, i)
		case 't':
			i, bad = wordEnd(data, i, "true")
		case 'f':
			i, bad = wordEnd(data, i, "false")
		case 'n':
			i, bad = wordEnd(data, i, "null")
		default:
			bad = fault(i, "%s cannot begin a value", shown(data, i))
		}
		if bad != nil {
			return i, bad
		}
		more := false
		for !more {
			if len(c.levels) == 0 {
				return i, nil
			}
			if visit != nil && len(c.levels) == 1 && c.levels[0].object {
				visit(c.latest(data), data[first:i])
			}
			if i, more, bad = c.next(data, i); bad != nil {
				return i, bad
			}
		}
	}
}

// next reads the end of an object or array after a value, or a comma and, in an
// object, the next name.
func (c *checker) next(data []byte, i int) (end int, more bool, bad *SyntaxError) {
	i = space(data, i)
	object := c.levels[len(c.levels)-1].object
	switch {
	case i >= len(data):
		return i, false, fault(i, "unexpected end inside an %s", kind(object))
	case data[i] == ',' && object:
		i, bad = c.name(data, space(data, i+1))
		return i, true, bad
	case data[i] == ',':
		return i + 1, true, nil
	case data[i] == '}' && object, data[i] == ']' && !object:
		c.close()
		return i + 1, false, nil
	}
	return i, false, fault(i, "%s instead of a comma or the end of the %s", shown(data, i), kind(object))
}

func kind(object bool) string {
	if object {
		return "object"
	}
	return "array"
}

// space returns the index of the first byte at or after i that is not white
// space.
func space(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(b byte) bool {
	return b <= ' ' && (b == ' ' || b == '\n' || b == '\r' || b == '\t')
}

func wordEnd(data []byte, i int, word string) (int, *SyntaxError) {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return i, fault(i, "expected %q", word)
	}
	return i + len(word), nil
}

// numberEnd checks the number that begins at data[i] with a digit or a minus.
func numberEnd(data []byte, i int) (int, *SyntaxError) {
	if data[i] == '-' {
		i++
	}
	whole := digits(data, i)
	if whole == i {
		return i, fault(i, "missing digit after the minus")
	}
	if data[i] == '0' && whole > i+1 {
		return i, fault(i, "leading zero in a number")
	}
	i = whole
	if i < len(data) && data[i] == '.' {
		end := digits(data, i+1)
		if end == i+1 {
			return end, fault(end, "missing digit after the decimal point")
		}
		i = end
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		end := digits(data, i)
		if end == i {
			return end, fault(end, "missing digit in the exponent")
		}
		i = end
	}
	return i, nil
}

func digits(data []byte, i int) int {
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// shown names the character at data[i] for error messages.
func shown(data []byte, i int) string {
	if i >= len(data) {
		return "the end"
	}
	if r, n := utf8.DecodeRune(data[i:]); r != utf8.RuneError || n > 1 {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("the byte 0x%02x", data[i])
}
