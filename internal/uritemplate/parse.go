// Package uritemplate parses URI templates (RFC 6570, all four levels) and
// matches URIs with them.
//
// The RFC defines expansion but not matching; [Template.Match] states the rules
// of this package. Matching takes time linear in the length of the URI, without
// backtracking.
//
// A Template is immutable and safe for concurrent use.
package uritemplate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads a template. The error is a *ParseError.
func Parse(s string) (*Template, error) {
	p := parser{t: &Template{source: s}}
	if err := p.template(s); err != nil {
		return nil, err
	}
	p.t.unmatched = p.t.ambiguity()
	return p.t, nil
}

type parser struct{ t *Template }

func (p *parser) fail(offset int, format string, args ...any) error {
	return &ParseError{Template: p.t.source, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

func (p *parser) template(s string) error {
	if len(s) > MaxTemplate {
		return p.fail(MaxTemplate, "the template has %d bytes; at most %d are allowed", len(s), MaxTemplate)
	}
	for i := 0; i < len(s); {
		if s[i] != '{' {
			end := len(s)
			if n := strings.IndexByte(s[i:], '{'); n >= 0 {
				end = i + n
			}
			if err := p.literal(i, s[i:end]); err != nil {
				return err
			}
			i = end
			continue
		}
		length := strings.IndexByte(s[i:], '}')
		if length < 0 {
			return p.fail(i, "this { is never closed")
		}
		if p.t.expression++; p.t.expression > MaxExpressions {
			return p.fail(i, "more than %d expressions", MaxExpressions)
		}
		if err := p.expression(i, s[i:i+length+1]); err != nil {
			return err
		}
		i += length + 1
	}
	return nil
}

// literal parses text outside braces. It percent-encodes characters outside ASCII.
func (p *parser) literal(offset int, s string) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '}':
			return p.fail(offset+i, "this } closes nothing; write %%7D for the character itself")
		case c == '%' && !triplet(s, i):
			return p.fail(offset+i, "a %% must be followed by two hexadecimal digits; write %%25 for the character itself")
		case c < 0x20 || noValue.has(c):
			return p.fail(offset+i, "the character %q is not allowed in a URI; write %%%02X", c, c)
		}
	}
	if !utf8.ValidString(s) {
		return p.fail(offset, "the text is not valid UTF-8")
	}
	text := string(appendEscaped(nil, s, uriChars, true))
	anchor, _ := normal(text)
	p.t.parts = append(p.t.parts, part{literal: text, anchor: anchor})
	return nil
}

// expression parses s, an expression in braces.
func (p *parser) expression(offset int, s string) error {
	e := &expression{offset: offset, source: s, op: plain}
	body := s[1 : len(s)-1]
	at := offset + 1
	if body == "" {
		return p.fail(offset, "the braces are empty; a variable's name is missing")
	}
	if op := operatorOf(body[0]); op != nil {
		e.op, body, at = op, body[1:], at+1
	} else if strings.IndexByte("=,!@|", body[0]) >= 0 {
		return p.fail(at, "the operator %q is reserved; use one of + # . / ; ? & or none", body[0])
	}
	for spec := range strings.SplitSeq(body, ",") {
		v, err := p.variable(at, spec)
		if err != nil {
			return err
		}
		e.vars = append(e.vars, v)
		if !slices.Contains(p.t.names, v.name) {
			p.t.names = append(p.t.names, v.name)
		}
		at += len(spec) + 1
	}
	e.body = e.accepts()
	p.t.parts = append(p.t.parts, part{expr: e})
	return nil
}

func (p *parser) variable(offset int, s string) (variable, error) {
	name, explode := strings.CutSuffix(s, "*")
	name, length, prefix := strings.Cut(name, ":")
	if err := p.name(offset, name); err != nil {
		return variable{}, err
	}
	key, ok := decode(name)
	if !ok {
		return variable{}, p.fail(offset, "the percent-encoded bytes of this name are not valid UTF-8")
	}
	v := variable{name: name, key: key, explode: explode}
	if !prefix {
		return v, nil
	}
	at := offset + len(name) + 1
	if explode {
		return v, p.fail(at, "a variable takes :length or *, not both")
	}
	n, err := strconv.ParseUint(length, 10, 16)
	if err != nil || n < 1 || n > 9999 || length[0] == '0' {
		return v, p.fail(at, "the length after : must be a number from 1 to 9999")
	}
	v.prefix = int(n)
	return v, nil
}

func (p *parser) name(offset int, s string) error {
	if s == "" {
		return p.fail(offset, "a variable's name is missing")
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case varChars.has(c):
		case triplet(s, i):
			i += 2
		case c == '.' && i > 0 && i+1 < len(s) && s[i-1] != '.':
		case c == '.':
			return p.fail(offset+i, "a dot must be between two other characters of a name")
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return p.fail(offset+i, "the character %q is not allowed in a variable's name; use letters, digits, _ and .", r)
		}
	}
	return nil
}

// Limits.
const (
	MaxTemplate    = 8 << 10  // bytes in a template
	MaxExpressions = 32       // expressions in a template
	MaxURI         = 64 << 10 // bytes in a URI; Match rejects a longer one
)

// A Template is a parsed URI template.
type Template struct {
	source     string
	parts      []part
	names      []string
	unmatched  error // why Match cannot work, or nil
	expression int   // how many parts are expressions
}

// A part is literal text or an expression.
type part struct {
	literal string // percent-encoded; empty for an expression
	anchor  string // the literal in the normal form that Match compares
	expr    *expression
}

// An expression is one pair of braces.
type expression struct {
	offset int // of the opening brace
	source string
	op     *operator
	vars   []variable
	body   charset // allowed after the lead in a URI
}

// A variable is one name in an expression, with its modifier.
type variable struct {
	name    string
	key     string // decoded name of the parameter in a URI
	explode bool   // {name*}
	prefix  int    // {name:3}; 0 means none
}

// A ParseError reports where a template is invalid.
type ParseError struct {
	Template string
	Offset   int // in bytes, from 0
	Reason   string
}

func (e *ParseError) Error() string {
	shown := e.Template
	if len(shown) > 200 {
		shown = shown[:200] + "…"
	}
	return fmt.Sprintf("URI template %q, offset %d: %s", shown, e.Offset, e.Reason)
}

// String returns the template as it was given to Parse.
func (t *Template) String() string { return t.source }

// Names returns the variables' names, each once, in the order of their first
// appearance. The slice is the caller's.
func (t *Template) Names() []string { return slices.Clone(t.names) }

// Matchable returns nil if Match can separate the variables, and otherwise an
// error that says how to change the template. A template that is not matchable
// matches nothing.
func (t *Template) Matchable() error { return t.unmatched }

func (t *Template) ambiguity() error {
	full := map[string]bool{} // names that occur without :length
	for _, p := range t.parts {
		if p.expr == nil {
			continue
		}
		if err := t.explodedLast(p.expr); err != nil {
			return err
		}
		for _, v := range p.expr.vars {
			full[v.name] = full[v.name] || v.prefix == 0
		}
	}
	for _, p := range t.parts {
		if p.expr == nil {
			continue
		}
		for _, v := range p.expr.vars {
			if !full[v.name] {
				return t.refuse(p.expr, "%s keeps only the first %d characters of %q, so the value cannot be read back; drop the :%d",
					p.expr.source, v.prefix, v.name, v.prefix)
			}
		}
	}
	return t.neighbours()
}

// explodedLast rejects an exploded variable that includes the ones after it.
func (t *Template) explodedLast(e *expression) error {
	if e.op.named {
		return nil // the names tell the values apart
	}
	for _, v := range e.vars[:len(e.vars)-1] {
		if v.explode {
			return t.refuse(e, "in %s nothing says where the list %q ends; put it last", e.source, v.name)
		}
	}
	return nil
}

// neighbours rejects adjacent expressions where the second does not begin
// with a character that the first can never contain. Expressions around an
// optional one count as adjacent.
func (t *Template) neighbours() error {
	for i, p := range t.parts {
		if p.expr == nil {
			continue
		}
		for _, q := range t.parts[i+1:] {
			if q.expr == nil {
				break
			}
			if !p.expr.endsBefore(q.expr) {
				return t.refuse(q.expr, "nothing says where %s ends and %s begins; put text between them, such as %s/%s, or use one expression",
					p.expr.source, q.expr.source, p.expr.source, q.expr.source)
			}
			if !q.expr.optional() {
				break
			}
		}
	}
	return nil
}

// endsBefore reports whether the start of next marks the end of e.
func (e *expression) endsBefore(next *expression) bool {
	switch {
	case next.op.lead == "":
		return false
	case e.op.symbol == "+" && (next.op.symbol == "?" || next.op.symbol == "#"):
		return true // by the rule of the shortest value: see Match
	}
	return !e.writes().has(next.op.lead[0])
}

func (t *Template) refuse(e *expression, format string, args ...any) error {
	return fmt.Errorf("URI template %q cannot be matched (offset %d): %s", t.source, e.offset, fmt.Sprintf(format, args...))
}
