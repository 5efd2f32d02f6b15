package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Template is a text with jq in double braces. It is safe for concurrent use.
type Template struct {
	parts []part
}

// A part is a literal text or a query.
type part struct {
	text  string
	query *Query
}

// CompileTemplate compiles a text. The error joins those of all its expressions.
func CompileTemplate(source string) (*Template, error) {
	t := &Template{}
	var errs []error
	for rest := source; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !found {
			break
		}
		end := closing(after)
		if end < 0 {
			return nil, errors.Join(append(errs, fmt.Errorf("{{ without }} in %q", clip(source)))...)
		}
		q, err := Compile(after[:end])
		if strings.TrimSpace(after[:end]) == "" {
			err = errors.New("{{ }} is empty; write jq between the braces")
		}
		if err != nil {
			errs = append(errs, err)
		}
		t.parts = append(t.parts, part{query: q})
		rest = after[end+2:]
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return t, nil
}

// closing returns the index of the }} that ends the jq at the start of a text, or
// -1. It skips strings, comments and braces inside.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := stringEnd(s[i:])
			if n < 0 {
				return -1
			}
			i += n
		case '#':
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				n = strings.Index(s[i:], "}}") - 1
				if n < 0 {
					return -1
				}
			}
			i += n
		case '{':
			depth++
		case '}':
			if depth == 0 && strings.HasPrefix(s[i:], "}}") {
				return i
			}
			depth = max(0, depth-1)
		}
	}
	return -1
}

// stringEnd returns the index of the quote that ends the string at the start of
// a text, or -1.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			if i++; i < len(s) && s[i] == '(' {
				n := interpolationEnd(s[i:])
				if n < 0 {
					return -1
				}
				i += n
			}
		}
	}
	return -1
}

// interpolationEnd returns the index of the parenthesis that closes the one at the
// start of a text, or -1.
func interpolationEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		case '"':
			n := stringEnd(s[i:])
			if n < 0 {
				return -1
			}
			i += n
		}
	}
	return -1
}

// Static reports whether a template has no expressions.
func (t *Template) Static() bool {
	for _, p := range t.parts {
		if p.query != nil {
			return false
		}
	}
	return true
}

// Whole reports whether a template is one expression without text around it.
func (t *Template) Whole() bool { return len(t.parts) == 1 && t.parts[0].query != nil }

// Literals returns the texts between the expressions, each on a line.
func (t *Template) Literals() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.query == nil {
			b.WriteString(p.text + "\n")
		}
	}
	return b.String()
}

// Roots calls visit with the members of the input that plain expressions use.
func (t *Template) Roots(visit func(name string)) {
	for _, p := range t.parts {
		if p.query != nil && p.query.Root() != "" {
			visit(p.query.Root())
		}
	}
}

// Value returns the value of a template: that of the expression if it is nothing
// else, and a text otherwise.
func (t *Template) Value(ctx context.Context, input any, v *Vars) (any, error) {
	if len(t.parts) == 1 && t.parts[0].query != nil {
		return t.parts[0].query.One(ctx, input, v)
	}
	return t.Text(ctx, input, v)
}

// Text returns a template as text. Several results of an expression are joined
// with line breaks.
func (t *Template) Text(ctx context.Context, input any, v *Vars) (string, error) {
	if len(t.parts) == 1 && t.parts[0].query == nil {
		return t.parts[0].text, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.query == nil {
			b.WriteString(p.text)
			continue
		}
		all, err := p.query.All(ctx, input, v)
		if err != nil {
			return "", err
		}
		for i, one := range all {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(Text(one))
		}
		if b.Len() > maxSize {
			return "", fmt.Errorf("a text has more than %d MiB", maxSize>>20)
		}
	}
	return b.String(), nil
}

// A Tree is a JSON value with templates in its strings. It is safe for concurrent
// use.
type Tree struct {
	static   any
	template *Template
	names    []string
	members  []*Tree
	items    []*Tree
	kind     byte // 's' static, 't' template, '{' or '['
}

// CompileTree compiles the templates in a decoded JSON value with compile, which
// gets the names and indexes that lead to a text, and returns nil for a text with
// mistakes.
func CompileTree(v any, compile func(path []any, source string) *Template) *Tree {
	return compileTree(v, nil, compile)
}

func compileTree(v any, path []any, compile func(path []any, source string) *Template) *Tree {
	switch v := v.(type) {
	case string:
		if t := compile(path, v); t != nil && !t.Static() {
			return &Tree{kind: 't', template: t}
		}
	case []any:
		out := &Tree{kind: '['}
		for i, item := range v {
			out.items = append(out.items, compileTree(item, append(path, i), compile))
		}
		return out
	case map[string]any:
		out := &Tree{kind: '{'}
		for name, item := range v {
			out.names, out.members = append(out.names, name), append(out.members, compileTree(item, append(path, name), compile))
		}
		return out
	}
	return &Tree{kind: 's', static: v}
}

// MayBeObject reports whether the value of the tree can be an object.
func (t *Tree) MayBeObject() bool {
	return t.kind == '{' || t.kind == 't' && t.template.Whole()
}

// Value returns the value of the tree. present is false if it is a template that
// gives null: such members and items are left out.
func (t *Tree) Value(ctx context.Context, input any, v *Vars) (value any, present bool, err error) {
	switch t.kind {
	case 't':
		value, err = t.template.Value(ctx, input, v)
		return value, value != nil, err
	case '[':
		list := make([]any, 0, len(t.items))
		for _, sub := range t.items {
			item, present, err := sub.Value(ctx, input, v)
			if err != nil {
				return nil, false, err
			}
			if present {
				list = append(list, item)
			}
		}
		return list, true, nil
	case '{':
		members := make(map[string]any, len(t.names))
		for i, sub := range t.members {
			item, present, err := sub.Value(ctx, input, v)
			if err != nil {
				return nil, false, err
			}
			if present {
				members[t.names[i]] = item
			}
		}
		return members, true, nil
	}
	return t.static, true, nil
}
