package visible

import (
	"strings"
	"unicode/utf8"
)

// strip removes complete terminal control sequences. Incomplete ones are left for
// escape.
func strip(s string) string {
	if !strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[i : i+size])
		i += size
	}
	return b.String()
}

// sequence returns the length of the control sequence at the start of s, or 0.
// Sequences start with ESC and one more byte, or with that byte as a C1 character.
func sequence(s string) int {
	var kind byte
	head := 2
	switch {
	case len(s) < 2:
		return 0
	case s[0] == 0x1b:
		kind = s[1]
	case s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0:
		kind = s[1] - 0x40
		if !strings.ContainsRune("PX[]^_", rune(kind)) {
			return 0
		}
	default:
		return 0
	}
	switch {
	case kind == '[':
		return csi(s, head)
	case kind == ']', kind == 'P', kind == 'X', kind == '^', kind == '_':
		return stringSequence(s, head)
	case kind >= 0x20 && kind < 0x30: // such as ESC ( B
		for ; head < len(s) && s[head] >= 0x20 && s[head] < 0x30; head++ {
		}
		if head < len(s) && s[head] >= 0x30 && s[head] < 0x7f {
			return head + 1
		}
		return 0
	case kind >= 0x30 && kind < 0x7f:
		return head
	}
	return 0
}

// csi returns the length of a sequence of parameters, intermediates and a final
// byte, or 0.
func csi(s string, i int) int {
	for ; i < len(s) && s[i] >= 0x30 && s[i] < 0x40; i++ {
	}
	for ; i < len(s) && s[i] >= 0x20 && s[i] < 0x30; i++ {
	}
	if i < len(s) && s[i] >= 0x40 && s[i] < 0x7f {
		return i + 1
	}
	return 0
}

// stringSequence returns the length of a sequence with text up to a terminator. It
// returns 0 for one without a terminator on its line, so that it hides nothing.
func stringSequence(s string, i int) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\', s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		case s[i] == '\n', s[i] == 0x1b, s[i] == 0xc2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] < 0xa0:
			return 0
		}
	}
	return 0
}
