package rawjson

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// MaxDepth is how many objects and arrays may be open at once.
const MaxDepth = 512

// A SyntaxError says where and why bytes are not strict JSON.
type SyntaxError struct {
	// Offset is the number of good bytes before the fault.
	Offset int
	// Reason is a phrase that names the fault.
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

func fault(offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// Check reports whether data is exactly one strict value with nothing but
// white space around it. The error is a [*SyntaxError].
func Check(data []byte) error { return CheckMembers(data, nil) }

// CheckMembers is [Check] that, when the value is an object, also shows each
// of its members to visit, in order, as they pass. The name is decoded; it is
// good only until visit returns. The value is a slice of data. Members are
// shown before the rest of data was checked, so nothing may be done with them
// until CheckMembers has returned nil. A nil visit is allowed.
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

// Scan checks the one value that begins at data[i], or after white space
// there, and returns the index just past it. What follows is not looked at.
// The error is a [*SyntaxError] whose offset counts from the start of data.
func Scan(data []byte, i int) (end int, err error) {
	c := takeChecker()
	end, bad := c.value(data, i, nil)
	c.release()
	if bad != nil {
		return end, bad
	}
	return end, nil
}

// value checks one value. There is one turn of the outer loop for each value
// that begins, and one turn of the inner loop for each that ends.
func (c *checker) value(data []byte, i int, visit func(name, value []byte)) (int, *SyntaxError) {
	if uint64(len(data)) > math.MaxInt32 {
		return 0, fault(0, "%d bytes are more than one value may have", len(data))
	}
	var bad *SyntaxError
	first := 0 // where the latest value of the outermost object begins
	for {
		i = space(data, i)
		if len(c.levels) == 1 {
			first = i
		}
		if i >= len(data) {
			return i, fault(i, "the bytes end where a value must begin")
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

// next reads what follows a value inside an object or array: a comma (and in
// an object the next name), after which there are more values, or the end.
func (c *checker) next(data []byte, i int) (end int, more bool, bad *SyntaxError) {
	i = space(data, i)
	object := c.levels[len(c.levels)-1].object
	switch {
	case i >= len(data):
		return i, false, fault(i, "the bytes end inside an %s", kind(object))
	case data[i] == ',' && object:
		i, bad = c.name(data, space(data, i+1))
		return i, true, bad
	case data[i] == ',':
		return i + 1, true, nil
	case data[i] == '}' && object, data[i] == ']' && !object:
		c.close()
		return i + 1, false, nil
	}
	return i, false, fault(i, "%s where a comma or the end of the %s must stand", shown(data, i), kind(object))
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
		return i, fault(i, "this is not %q", word)
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
		return i, fault(i, "a digit is missing after the minus")
	}
	if data[i] == '0' && whole > i+1 {
		return i, fault(i, "a number has a leading zero")
	}
	i = whole
	if i < len(data) && data[i] == '.' {
		end := digits(data, i+1)
		if end == i+1 {
			return end, fault(end, "a digit is missing after the decimal point")
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
			return end, fault(end, "a digit is missing in the exponent")
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

// shown names the character at data[i] for an error text.
func shown(data []byte, i int) string {
	if i >= len(data) {
		return "the end"
	}
	if r, n := utf8.DecodeRune(data[i:]); r != utf8.RuneError || n > 1 {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("the byte 0x%02x", data[i])
}
