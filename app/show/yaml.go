package show

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// appendYAML writes a JSON value as YAML, with members in order. What is not a
// plain word is quoted as in JSON, which YAML reads, too.
func appendYAML(out *bytes.Buffer, raw json.RawMessage) error {
	y := &yamlWriter{dec: jsontext.NewDecoder(bytes.NewReader(raw)), out: out}
	return y.value(0, lineStart)
}

type yamlWriter struct {
	dec *jsontext.Decoder
	out *bytes.Buffer
}

// A place is the place on its line where a value begins.
type place int

const (
	lineStart place = iota // at the start of the line
	afterKey               // after "name:"
	afterDash              // after "- ", which is as wide as a margin
)

// value writes the next value, whose lines have a margin of depth.
func (y *yamlWriter) value(depth int, at place) error {
	switch y.dec.PeekKind() {
	case '{':
		return y.object(depth, at)
	case '[':
		return y.array(depth, at)
	case '"':
		tok, err := y.dec.ReadToken()
		if err != nil {
			return err
		}
		y.lead(at)
		y.text(depth, tok.String(), at)
		return nil
	}
	v, err := y.dec.ReadValue()
	if err != nil {
		return err
	}
	y.lead(at)
	y.out.WriteString(yamlNumber(string(v)))
	y.out.WriteByte('\n')
	return nil
}

// yamlNumber adds a point and a sign to a number with an exponent, so that older
// YAML reads it as a number. Other words stay.
func yamlNumber(s string) string {
	if s == "true" || s == "false" {
		return s
	}
	digits, exponent, ok := strings.Cut(strings.ToLower(s), "e")
	if !ok {
		return s
	}
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	if exponent[0] != '-' && exponent[0] != '+' {
		exponent = "+" + exponent
	}
	return digits + "e" + exponent
}

// lead separates a value from the key on its line.
func (y *yamlWriter) lead(at place) {
	if at == afterKey {
		y.out.WriteByte(' ')
	}
}

func (y *yamlWriter) object(depth int, at place) error {
	return y.each(depth, at, '}', "{}", func() error {
		name, err := y.dec.ReadToken()
		if err != nil {
			return err
		}
		y.out.WriteString(yamlWord(name.String()))
		y.out.WriteByte(':')
		return y.value(depth+1, afterKey)
	})
}

func (y *yamlWriter) array(depth int, at place) error {
	return y.each(depth, at, ']', "[]", func() error {
		y.out.WriteString("- ")
		return y.value(depth+1, afterDash)
	})
}

// each writes the items between two brackets on their own lines; the first on the
// line of a dash.
func (y *yamlWriter) each(depth int, at place, end jsontext.Kind, empty string, item func() error) error {
	if _, err := y.dec.ReadToken(); err != nil {
		return err
	}
	switch {
	case y.dec.PeekKind() == end:
		y.lead(at)
		y.out.WriteString(empty + "\n")
	case at == afterKey:
		y.out.WriteByte('\n')
	}
	for first := true; y.dec.PeekKind() != end; first = false {
		if !first || at != afterDash {
			y.margin(depth)
		}
		if err := item(); err != nil {
			return err
		}
	}
	_, err := y.dec.ReadToken()
	return err
}

func (y *yamlWriter) margin(depth int) { y.out.WriteString(strings.Repeat("  ", depth)) }

// text writes a string: with line breaks as a block, if that preserves it, else
// on one line.
func (y *yamlWriter) text(depth int, s string, at place) {
	if at == lineStart || !strings.Contains(s, "\n") || !blockable(s) {
		y.out.WriteString(yamlWord(s))
		y.out.WriteByte('\n')
		return
	}
	mark := "|-"
	body, ended := strings.CutSuffix(s, "\n")
	if ended {
		mark = "|"
	}
	y.out.WriteString(mark + "\n")
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			y.margin(depth)
			y.out.WriteString(line)
		}
		y.out.WriteByte('\n')
	}
}

// blockable reports whether a YAML block preserves a text.
func blockable(s string) bool {
	if strings.HasSuffix(s, "\n\n") || s == "\n" || strings.ContainsAny(s[:1], " \n\t") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(line) == "" && line != "" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r == 0x2028 || r == 0x2029 || r == 0xfeff || hidden(r)
	})
}

// plainWord matches texts that need no quotes in YAML, except for reserved words.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_/$][A-Za-z0-9_./$ -]*$`) })

func yamlWord(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plainWord().MatchString(s) && !strings.HasSuffix(s, " ") {
			return s
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string always can be
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
