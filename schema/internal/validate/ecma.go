package validate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Patterns are ECMA-262 regular expressions. They are matched with package
// regexp, in time proportional to the text. Where the syntaxes differ, the
// pattern is rewritten. Look-around and back references, which Go does not
// support, are rejected.
//
// ECMA-262 has more white space characters than Go. Each set ends with a range,
// so that a hyphen may follow.
const (
	anyChar    = `[^\n\r\x{2028}\x{2029}]`
	space      = `\t-\r \x{a0}\x{1680}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}\x{2000}-\x{200a}`
	notSpace   = `\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	everything = `\x00-\x{10ffff}`
)

var (
	errLookAround    = errors.New("look-ahead and look-behind are not supported")
	errBackReference = errors.New("back references are not supported")
	errEnds          = errors.New("it ends unexpectedly")
)

// A translator rewrites one pattern.
type translator struct {
	in  string
	at  int
	out strings.Builder
}

// translate rewrites a pattern for Go. A pattern with flags such as (?i) is not
// ECMA-262 and is used unchanged.
func translate(pattern string) (string, error) {
	if !strings.ContainsAny(pattern, `\.[`) && !strings.Contains(pattern, "(?") {
		return pattern, nil
	}
	t := &translator{in: pattern}
	for t.at < len(t.in) {
		var err error
		switch t.in[t.at] {
		case '\\':
			_, err = t.escape(false)
		case '.':
			t.at++
			t.out.WriteString(anyChar)
		case '[':
			err = t.class()
		case '(':
			rest := t.in[t.at:]
			if strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!") {
				return "", errLookAround
			}
			if len(rest) > 2 && rest[1] == '?' && strings.IndexByte("imsU-", rest[2]) >= 0 {
				return pattern, nil
			}
			fallthrough
		default:
			t.copy()
		}
		if err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

// copy takes one byte as it is.
func (t *translator) copy() {
	t.out.WriteByte(t.in[t.at])
	t.at++
}

// class rewrites what stands between brackets.
func (t *translator) class() error {
	rest := t.in[t.at:]
	switch {
	case strings.HasPrefix(rest, "[]"):
		t.out.WriteString("[^" + everything + "]")
		t.at += 2
		return nil
	case strings.HasPrefix(rest, "[^]"):
		t.out.WriteString("[" + everything + "]")
		t.at += 3
		return nil
	}
	t.copy()
	if strings.HasPrefix(rest, "[^") {
		t.copy()
	}
	many := false // the last thing was a set and not a character
	for t.at < len(t.in) {
		var err error
		switch c := t.in[t.at]; {
		case c == ']':
			t.copy()
			return nil
		case c == '\\':
			many, err = t.escape(true)
		case c == '[':
			t.out.WriteString(`\[`)
			t.at++
			many = false
		case c == '-' && (many || t.setFollows()):
			t.out.WriteString(`\-`)
			t.at++
			many = false
		default:
			t.copy()
			many = false
		}
		if err != nil {
			return err
		}
	}
	return errors.New("unclosed [")
}

// setFollows says whether a set such as \d comes after the hyphen, which is
// then no range.
func (t *translator) setFollows() bool {
	rest := t.in[t.at+1:]
	return len(rest) > 1 && rest[0] == '\\' && strings.IndexByte("dDwWsSpP", rest[1]) >= 0
}

// escape rewrites what a backslash begins. It tells whether that is a set.
func (t *translator) escape(inClass bool) (set bool, err error) {
	if t.at+1 >= len(t.in) {
		return false, errEnds
	}
	c := t.in[t.at+1]
	rest := t.in[t.at+2:]
	t.at += 2
	switch c {
	case 'd', 'D', 'w', 'W':
		t.out.WriteString(`\` + string(c))
		return true, nil
	case 's', 'S':
		t.out.WriteString(spaces(c == 's', inClass))
		return true, nil
	case 'p', 'P':
		return true, t.property(c, rest)
	case 't', 'n', 'r', 'f', 'v':
		t.out.WriteString(`\` + string(c))
	case 'b':
		if inClass {
			t.out.WriteString(`\x08`)
		} else {
			t.out.WriteString(`\b`)
		}
	case 'B':
		if inClass {
			return false, errors.New(`\B has no meaning between [ and ]`)
		}
		t.out.WriteString(`\B`)
	case 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return false, errBackReference
	case '0', 'c', 'x', 'u':
		return false, t.code(c, rest)
	default:
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			return false, fmt.Errorf(`\%c has no meaning in ECMA-262`, c)
		}
		if c < utf8.RuneSelf {
			t.out.WriteByte('\\')
		}
		t.out.WriteByte(c)
	}
	return false, nil
}

func spaces(are, inClass bool) string {
	switch {
	case are && inClass:
		return space
	case inClass:
		return notSpace
	case are:
		return "[" + space + "]"
	}
	return "[^" + space + "]"
}

// property rewrites \p{…}: Go has categories and scripts in one list.
func (t *translator) property(c byte, rest string) error {
	name, _, ok := strings.Cut(rest, "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return fmt.Errorf(`after \%c there must be a name in braces`, c)
	}
	t.at += len(name) + 1
	name = name[1:]
	for _, kind := range []string{"Script=", "sc=", "Script_Extensions=", "scx=", "General_Category=", "gc="} {
		name = strings.TrimPrefix(name, kind)
	}
	fmt.Fprintf(&t.out, `\%c{%s}`, c, name)
	return nil
}

// code rewrites a character that is written as a number.
func (t *translator) code(c byte, rest string) error {
	var r rune
	var n int // how much of rest it takes
	switch {
	case c == '0' && (rest == "" || rest[0] < '0' || rest[0] > '9'):
	case c == 'c' && rest != "" && rest[0]|0x20 >= 'a' && rest[0]|0x20 <= 'z':
		r, n = rune(rest[0]&0x1f), 1
	case c == 'x' && isHex(rest, 2):
		r, n = hexRune(rest[:2]), 2
	case c == 'u' && isHex(rest, 4):
		r, n = hexRune(rest[:4]), 4
		if utf16.IsSurrogate(r) {
			if !strings.HasPrefix(rest[4:], `\u`) || !isHex(rest[6:], 4) {
				return errors.New("half of a surrogate pair is no character")
			}
			r, n = utf16.DecodeRune(r, hexRune(rest[6:10])), 10
		}
	case c == 'u' && strings.HasPrefix(rest, "{"):
		digits, _, _ := strings.Cut(rest[1:], "}")
		if digits == "" || len(digits) > 6 || !isHex(rest[1:], len(digits)) || len(rest) < len(digits)+2 || hexRune(digits) > utf8.MaxRune {
			return errors.New(`\u{…} is not a character`)
		}
		r, n = hexRune(digits), len(digits)+2
	default:
		return fmt.Errorf(`\%c is not followed by the number of a character`, c)
	}
	t.at += n
	fmt.Fprintf(&t.out, `\x{%x}`, r)
	return nil
}

func isHex(s string, n int) bool {
	if len(s) < n {
		return false
	}
	for i := range n {
		if c := s[i]; !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func hexRune(s string) rune {
	v, _ := strconv.ParseUint(s, 16, 32)
	return rune(v)
}
