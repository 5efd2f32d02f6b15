package mcptest

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/textclip"
)

// A pattern is JSON with wildcards.
type pattern struct {
	kind  kind
	text  string     // the JSON of a scalar, or the name of a capture
	names []string   // of the members of an object
	parts []*pattern // members or elements
	open  bool       // further members are allowed
}

type kind int

const (
	scalar   kind = iota
	object        // {…}
	array         // […]
	anything      // *
	capture       // $name
)

func parsePattern(s string) (*pattern, error) {
	p, rest, err := readPattern(s)
	if err != nil {
		return nil, err
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		return nil, fmt.Errorf("unexpected %q after the value", clip(rest))
	}
	return p, nil
}

// readPattern parses a pattern at the beginning of s.
func readPattern(s string) (p *pattern, rest string, err error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return nil, "", fmt.Errorf("a value is missing")
	case s[0] == '{':
		return readParts(&pattern{kind: object}, s[1:], '}')
	case s[0] == '[':
		return readParts(&pattern{kind: array}, s[1:], ']')
	case s[0] == '*':
		return &pattern{kind: anything}, s[1:], nil
	case s[0] == '$':
		n := nameLength(s[1:])
		if n == 0 {
			return nil, "", fmt.Errorf("a name is missing after $")
		}
		return &pattern{kind: capture, text: s[1 : 1+n]}, s[1+n:], nil
	}
	n := scalarLength(s)
	if err := rawjson.Check([]byte(s[:n])); err != nil {
		return nil, "", fmt.Errorf("%q is neither JSON nor *, $name or …", clip(s))
	}
	return &pattern{text: s[:n]}, s[n:], nil
}

// readParts parses members or elements up to the closing bracket.
func readParts(p *pattern, s string, end byte) (*pattern, string, error) {
	for {
		s = strings.TrimSpace(s)
		switch {
		case s == "":
			return nil, "", fmt.Errorf("a closing %c is missing", end)
		case s[0] == end:
			return p, s[1:], nil
		case len(p.parts) > 0 || p.open:
			if s[0] != ',' {
				return nil, "", fmt.Errorf("expected a comma or %c, found %q", end, clip(s))
			}
			s = strings.TrimSpace(s[1:])
		}
		if rest, ok := cutDots(s); ok {
			p.open, s = true, rest
			continue
		}
		if p.open {
			return nil, "", fmt.Errorf("… must be the last thing before %c", end)
		}
		if p.kind == object {
			n := scalarLength(s)
			name, ok := rawjson.String([]byte(s[:n]))
			rest, colon := strings.CutPrefix(strings.TrimSpace(s[n:]), ":")
			if !ok || !colon {
				return nil, "", fmt.Errorf("expected a name and a colon, found %q", clip(s))
			}
			p.names, s = append(p.names, name), rest
		}
		part, rest, err := readPattern(s)
		if err != nil {
			return nil, "", err
		}
		p.parts, s = append(p.parts, part), rest
	}
}

func cutDots(s string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(s, "…"); ok {
		return rest, true
	}
	return strings.CutPrefix(s, "...")
}

func nameLength(s string) int {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return i
		}
	}
	return len(s)
}

// scalarLength returns the length of the scalar at the beginning of s.
func scalarLength(s string) int {
	if s == "" || s[0] != '"' {
		if n := strings.IndexAny(s, ",]}: \t\n"); n >= 0 {
			return n
		}
		return len(s)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// captures holds the values stored under names.
type captures map[string]string

// fill replaces names in s by captured values.
func (c captures) fill(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		n := 1
		switch s[i] {
		case '"':
			n = scalarLength(s[i:])
		case '$':
			n = 1 + nameLength(s[i+1:])
			if v, ok := c[s[i+1:i+n]]; ok {
				out.WriteString(v)
				i += n
				continue
			}
		}
		out.WriteString(s[i : i+n])
		i += n
	}
	return out.String()
}

// match returns nil if got, which is valid JSON, matches p, and otherwise where
// it differs. Captures are stored only if everything matches.
func (p *pattern) match(got []byte, captured captures) error {
	trial := captures{}
	for k, v := range captured {
		trial[k] = v
	}
	if err := p.compare(got, trial, ""); err != nil {
		return err
	}
	for k, v := range trial {
		captured[k] = v
	}
	return nil
}

func (p *pattern) compare(got []byte, captured captures, path string) error {
	switch p.kind {
	case anything:
		return nil
	case capture:
		old, ok := captured[p.text]
		if !ok {
			captured[p.text] = string(rawjson.AppendCompact(nil, got))
		} else if !sameJSON([]byte(old), got) {
			return differ(path, got, old+" as $"+p.text)
		}
		return nil
	case object:
		return p.compareObject(got, captured, path)
	case array:
		return p.compareArray(got, captured, path)
	}
	if !sameScalar([]byte(p.text), got) {
		return differ(path, got, p.text)
	}
	return nil
}

func (p *pattern) compareObject(got []byte, captured captures, path string) error {
	if !rawjson.IsObject(got) {
		return differ(path, got, "an object")
	}
	has := map[string]bool{}
	for i, name := range p.names {
		has[name] = true
		v := rawjson.Lookup(got, name)
		if v == nil {
			return fmt.Errorf("%s: missing, want %s", at(path+"."+name), clip(p.parts[i].String()))
		}
		if err := p.parts[i].compare(v, captured, path+"."+name); err != nil {
			return err
		}
	}
	for m := rawjson.Object(got); m.Next() && !p.open; {
		if !has[string(m.Name)] {
			return fmt.Errorf("%s: unexpected %s", at(path+"."+string(m.Name)), clip(string(m.Value)))
		}
	}
	return nil
}

func (p *pattern) compareArray(got []byte, captured captures, path string) error {
	if !rawjson.IsArray(got) {
		return differ(path, got, "an array")
	}
	i := 0
	for e := rawjson.Array(got); e.Next(); i++ {
		where := fmt.Sprintf("%s[%d]", path, i)
		if i >= len(p.parts) {
			if p.open {
				return nil
			}
			return fmt.Errorf("%s: unexpected %s", at(where), clip(string(e.Value)))
		}
		if err := p.parts[i].compare(e.Value, captured, where); err != nil {
			return err
		}
	}
	if i < len(p.parts) {
		return fmt.Errorf("%s: missing, want %s", at(fmt.Sprintf("%s[%d]", path, i)), clip(p.parts[i].String()))
	}
	return nil
}

func differ(path string, got []byte, want string) error {
	return fmt.Errorf("%s: got %s, want %s", at(path), clip(string(got)), clip(want))
}

func at(path string) string {
	if path = strings.TrimPrefix(path, "."); path != "" {
		return path
	}
	return "the value"
}

// sameScalar compares scalars: strings by their decoded text, numbers by value.
func sameScalar(a, b []byte) bool {
	if s, ok := rawjson.String(a); ok {
		t, ok := rawjson.String(b)
		return ok && s == t
	}
	if bytes.Equal(a, b) {
		return true
	}
	const digits = 40 // longer numbers must be written alike
	if len(a) > digits || len(b) > digits || bytes.ContainsAny(a, "eE") != bytes.ContainsAny(b, "eE") {
		return false
	}
	x, ok := new(big.Rat).SetString(string(a))
	if !ok {
		return false
	}
	y, ok := new(big.Rat).SetString(string(b))
	return ok && x.Cmp(y) == 0
}

func sameJSON(a, b []byte) bool {
	return bytes.Equal(rawjson.AppendCanonical(nil, a), rawjson.AppendCanonical(nil, b))
}

// clip shortens text from others for errors.
func clip(s string) string { return textclip.Clip(s, 300) }
