package api

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
)

// A pathTemplate is an RFC 6570 template of the path of a request, with the
// operators that make sense there: {x}, {+x}, {/x*}, {?x,y*} and {&x}.
type pathTemplate struct {
	parts []pathPart
}

type pathPart struct {
	text  string
	op    byte // 0, '+', '/', '?' or '&'; only with names
	names []pathName
}

type pathName struct {
	name    string
	explode bool
}

// parsePath compiles a template.
func parsePath(source string) (*pathTemplate, error) {
	t := &pathTemplate{}
	if !strings.HasPrefix(source, "/") {
		return nil, errors.New("must begin with /, or be a whole URL such as https://…")
	}
	for rest := source; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if err := checkLiteral(before); err != nil {
			return nil, err
		}
		if before != "" {
			t.parts = append(t.parts, pathPart{text: before})
		}
		if !found {
			break
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed {
			return nil, errors.New("has { without }")
		}
		part, err := parseExpression(inside)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, part)
		rest = behind
	}
	return t, nil
}

func checkLiteral(s string) error {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^{|}#`+"`", c) >= 0 {
			return fmt.Errorf("has the character %q, which must be percent-encoded", c)
		}
	}
	path, _, _ := strings.Cut(s, "?")
	if slices.ContainsFunc(strings.Split(path, "/"), func(seg string) bool { return seg == ".." || seg == "." }) {
		return errors.New("has . or .. segments")
	}
	return nil
}

func parseExpression(s string) (pathPart, error) {
	var p pathPart
	if s != "" && strings.IndexByte("+/?&#.;", s[0]) >= 0 {
		p.op, s = s[0], s[1:]
	}
	if p.op == '#' || p.op == '.' || p.op == ';' {
		return p, fmt.Errorf("has {%c…}; use {name}, {+name}, {/name}, {?name} or {&name}", p.op)
	}
	for _, written := range strings.Split(s, ",") {
		name, explode := strings.CutSuffix(written, "*")
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return p, fmt.Errorf("has an invalid name %q in braces", written)
		}
		p.names = append(p.names, pathName{name, explode})
	}
	return p, nil
}

// names calls visit with the variables of the template.
func (t *pathTemplate) names(visit func(name string)) {
	for _, p := range t.parts {
		for _, n := range p.names {
			visit(n.name)
		}
	}
}

// needs reports whether the path cannot be written without a variable. A nil template
// needs none.
func (t *pathTemplate) needs(name string) bool {
	return t != nil && slices.ContainsFunc(t.parts, func(p pathPart) bool {
		return (p.op == 0 || p.op == '+') && slices.ContainsFunc(p.names, func(n pathName) bool { return n.name == name })
	})
}

// expand returns the path, and the query if the template has one. Values are
// percent-encoded; those that would change the path are refused.
func (t *pathTemplate) expand(args map[string]any) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.names == nil {
			b.WriteString(p.text)
			continue
		}
		if err := p.write(&b, args); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (p *pathPart) write(b *strings.Builder, args map[string]any) error {
	for i, n := range p.names {
		v := args[n.name]
		if p.op == '?' || p.op == '&' {
			writeQuery(b, p.op, n, v)
			continue
		}
		if i > 0 && p.op != '/' {
			b.WriteByte(',')
		}
		if err := p.writeSegment(b, n, v); err != nil {
			return err
		}
	}
	return nil
}

// writeSegment writes a value into the path.
func (p *pathPart) writeSegment(b *strings.Builder, n pathName, v any) error {
	values := []any{v}
	if list, ok := v.([]any); ok {
		if len(list) == 0 && p.op != '/' {
			return checkPathValue(n.name, "")
		}
		values = list
	}
	if p.op == '/' && v == nil {
		return nil
	}
	for i, one := range values {
		if _, nested := one.(map[string]any); nested {
			return fmt.Errorf("argument %q must not be an object in a path", n.name)
		}
		text := expr.Text(one)
		if err := checkPathValue(n.name, text); err != nil {
			return err
		}
		switch {
		case p.op == '/' && (i == 0 || n.explode):
			b.WriteByte('/')
		case i > 0:
			b.WriteByte(',')
		}
		if p.op == '+' || p.op == '/' && !n.explode && len(values) == 1 {
			if err := writeSegments(b, n.name, text); err != nil {
				return err
			}
			continue
		}
		b.WriteString(escape(text))
	}
	return nil
}

// writeSegments writes a path of several segments.
func writeSegments(b *strings.Builder, name, text string) error {
	for i, segment := range strings.Split(strings.Trim(text, "/"), "/") {
		if segment == "" {
			return fmt.Errorf("argument %q has an empty path segment", name)
		}
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(escape(segment))
	}
	return nil
}

// checkPathValue refuses values that would lead to another path, however a server
// decodes them.
func checkPathValue(name, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("argument %q is empty, but the path needs it", name)
	case !utf8.ValidString(text):
		return fmt.Errorf("argument %q is not valid UTF-8", name)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("argument %q has control characters", name)
	}
	for range 3 { // also if it was encoded before
		for _, segment := range strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }) {
			if segment == "." || segment == ".." {
				return fmt.Errorf("argument %q has the path segment %q, which is refused", name, segment)
			}
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			break
		}
		text = decoded
	}
	return nil
}

// writeQuery writes a query parameter; nothing if it has no value.
func writeQuery(b *strings.Builder, op byte, n pathName, v any) {
	write := func(text string) {
		if strings.Contains(b.String(), "?") {
			b.WriteByte('&')
		} else {
			b.WriteByte('?')
		}
		b.WriteString(escape(n.name) + "=" + escape(text))
	}
	list, isList := v.([]any)
	switch {
	case v == nil:
	case isList && n.explode:
		for _, item := range list {
			write(expr.Text(item))
		}
	case isList:
		var texts []string
		for _, item := range list {
			texts = append(texts, expr.Text(item))
		}
		if len(texts) > 0 {
			write(strings.Join(texts, ","))
		}
	default:
		write(expr.Text(v))
	}
}

// escape percent-encodes everything but unreserved characters.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '-' || c == '.' || c == '_' || c == '~' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
