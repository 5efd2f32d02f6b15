package uritemplate

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// read reads the values in the part s of the URI that belongs to the expression,
// and reports whether they are valid.
func (m *matcher) read(e *expression, s string) bool {
	m.steps += len(s)
	if s == "" {
		return e.optional()
	}
	s = s[len(e.op.lead):]
	if e.op.named {
		return m.readNamed(e, s)
	}
	last := len(e.vars) - 1
	for _, v := range e.vars[:last] {
		value, rest, more := strings.Cut(s, string(rune(e.op.sep)))
		if !m.add(e, v, value) {
			return false
		}
		if !more {
			return true
		}
		s = rest
	}
	v := e.vars[last]
	if v.explode {
		return m.readList(e, v, s)
	}
	if e.op.symbol == "/" && strings.IndexByte(s, '/') >= 0 {
		return false
	}
	return m.add(e, v, s)
}

// readList reads the values of an exploded variable.
func (m *matcher) readList(e *expression, v variable, s string) bool {
	items := make([]string, 0, 1+strings.Count(s, string(rune(e.op.sep))))
	for raw := range strings.SplitSeq(s, string(rune(e.op.sep))) {
		item, ok := decode(raw)
		if !ok {
			return false
		}
		items = append(items, item)
	}
	return m.addValue(e, v, List(items...))
}

// A parameterRun collects the parameters for exploded variables.
type parameterRun struct {
	lists map[string][]string // values of exploded variables by key
	other []Pair              // parameters without a variable
	all   []Pair              // both in order
}

// readNamed reads name=value parameters in any order.
func (m *matcher) readNamed(e *expression, s string) bool {
	if s == "" {
		return true
	}
	run := parameterRun{lists: map[string][]string{}}
	seen := make([]bool, len(e.vars))
	for raw := range strings.SplitSeq(s, string(rune(e.op.sep))) {
		name, value, _ := strings.Cut(raw, "=")
		name, ok := decode(name)
		if !ok || name == "" {
			return false
		}
		i := slices.IndexFunc(e.vars, func(v variable) bool { return v.key == name })
		if i >= 0 && !e.vars[i].explode {
			if seen[i] || !m.add(e, e.vars[i], value) {
				return false
			}
			seen[i] = true
			continue
		}
		if !run.add(name, value, i >= 0) {
			return false
		}
	}
	return m.addExploded(e, &run)
}

// add adds a parameter; known says that an exploded variable has its name.
func (r *parameterRun) add(name, value string, known bool) bool {
	value, ok := decode(value)
	if !ok {
		return false
	}
	r.all = append(r.all, Pair{name, value})
	if known {
		r.lists[name] = append(r.lists[name], value)
	} else {
		r.other = append(r.other, Pair{name, value})
	}
	return true
}

// addExploded assigns the collected parameters to the exploded variables.
func (m *matcher) addExploded(e *expression, r *parameterRun) bool {
	exploded := 0
	for _, v := range e.vars {
		if v.explode {
			exploded++
		}
	}
	if len(r.other) > 0 && exploded != 1 {
		return false
	}
	for _, v := range e.vars {
		if !v.explode {
			continue
		}
		value := List(r.lists[v.key]...)
		if len(r.other) > 0 {
			value = Pairs(r.all...)
		}
		if value.kind != undefined && !m.addValue(e, v, value) {
			return false
		}
	}
	return true
}

// add decodes and adds the value of a variable that is not exploded.
func (m *matcher) add(e *expression, v variable, raw string) bool {
	s, ok := decode(raw)
	if !ok {
		return false
	}
	if v.prefix > 0 {
		m.cuts = append(m.cuts, taken{v, s})
		return true
	}
	return m.addValue(e, v, String(s))
}

// addValue adds a value. A second value for the same name must be equal.
func (m *matcher) addValue(e *expression, v variable, value Value) bool {
	for _, f := range m.found {
		if f.name == v.name {
			return f.value.join("/") == value.join("/")
		}
	}
	m.found = append(m.found, found{v.name, value, e.op.joint})
	return true
}

// cutsAgree compares the values of {name:3} with the whole values.
func (m *matcher) cutsAgree() bool {
	for _, c := range m.cuts {
		i := slices.IndexFunc(m.found, func(f found) bool { return f.name == c.variable.name })
		if i < 0 {
			return false
		}
		whole, ok := m.found[i].value.Text()
		if !ok || cut(whole, c.variable.prefix) != c.text {
			return false
		}
	}
	return true
}

// decode decodes percent-encoding once. The result must be UTF-8.
func decode(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if !triplet(s, i) {
			return "", false
		}
		b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
		i += 2
	}
	return string(b), utf8.Valid(b)
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// normal returns the URI in the form in which URIs are compared: text outside
// ASCII percent-encoded, hexadecimal digits in upper case. It returns false for a
// stray %, a space, a control character or invalid UTF-8.
func normal(uri string) (string, bool) {
	change := false
	for i := 0; i < len(uri); i++ {
		switch c := uri[i]; {
		case c >= 0x80:
			change = true
		case c < 0x20 || noValue.has(c) || c == '%' && !triplet(uri, i):
			return "", false
		case c == '%':
			change = change || lowerHex.has(uri[i+1]) || lowerHex.has(uri[i+2])
		}
	}
	if !change {
		return uri, true
	}
	if !utf8.ValidString(uri) {
		return "", false
	}
	b := appendEscaped(make([]byte, 0, len(uri)+16), uri, uriChars, true)
	for i := 0; i < len(b); i++ {
		if b[i] == '%' {
			for j := i + 1; j <= i+2; j++ {
				if lowerHex.has(b[j]) {
					b[j] &^= 0x20
				}
			}
			i += 2
		}
	}
	return string(b), true
}
