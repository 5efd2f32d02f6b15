package uritemplate

import "fmt"

// No caller of the package expands templates. The tests do: matching must undo
// expansion.

// Expand writes the URI for string values. A variable that is not in vars is
// undefined and leaves no trace; one that is there and empty may leave its
// name or a separator, as the RFC has it.
func (t *Template) Expand(vars map[string]string) string {
	values := make(map[string]Value, len(vars))
	for name, s := range vars {
		values[name] = String(s)
	}
	uri, _ := t.ExpandValues(values) // strings can be cut, so it does not fail
	return uri
}

// ExpandValues writes the URI for values of any kind. It fails only where the
// template cuts a value to a length ({name:3}) and the value is not a string.
func (t *Template) ExpandValues(vars map[string]Value) (string, error) {
	b := make([]byte, 0, len(t.source)+32)
	for _, p := range t.parts {
		if p.expr == nil {
			b = append(b, p.literal...)
			continue
		}
		w := writer{b: b, op: p.expr.op}
		for _, v := range p.expr.vars {
			value := vars[v.name]
			if v.prefix > 0 && value.kind > text {
				return "", fmt.Errorf("URI template %q: %s cuts %q to a length, so its value must be a string",
					t.source, p.expr.source, v.name)
			}
			w.value(v, value)
		}
		b = w.b
	}
	return string(b), nil
}

// A writer writes the values of one expression.
type writer struct {
	b       []byte
	op      *operator
	started bool
}

// next writes what stands before a value.
func (w *writer) next() {
	if w.started {
		w.b = append(w.b, w.op.sep)
		return
	}
	w.b = append(w.b, w.op.lead...)
	w.started = true
}

func (w *writer) escaped(s string) {
	if w.op.reserved {
		w.b = appendEscaped(w.b, s, uriChars, true)
		return
	}
	w.b = appendEscaped(w.b, s, unreserved, false)
}

// name writes the name before a value, if the operator wants one.
func (w *writer) name(name string, empty bool) {
	if !w.op.named {
		return
	}
	w.b = append(w.b, name...)
	if !empty || !w.op.bareName {
		w.b = append(w.b, '=')
	}
}

func (w *writer) text(v variable, s string) {
	w.next()
	s = cut(s, v.prefix)
	w.name(v.name, s == "")
	w.escaped(s)
}

func (w *writer) value(v variable, value Value) {
	switch {
	case value.kind == text:
		w.text(v, value.text)
	case value.kind == list && v.explode:
		for _, s := range value.list {
			w.text(v, s)
		}
	case value.kind == pairs && v.explode:
		for _, p := range value.pairs {
			w.next()
			w.escaped(p.Name)
			if p.Value != "" || !w.op.bareName {
				w.b = append(w.b, '=')
			}
			w.escaped(p.Value)
		}
	case value.kind != undefined:
		w.next()
		w.name(v.name, false)
		w.commaList(value)
	}
}

// commaList writes a list, or names and values in turn, with commas between.
func (w *writer) commaList(value Value) {
	items := value.list
	for _, p := range value.pairs {
		items = append(items, p.Name, p.Value)
	}
	for i, s := range items {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.escaped(s)
	}
}

// MatchValues is Match with exploded variables as lists, or as pairs if the URI
// has parameters of other names. The value of another variable is a string.
func (t *Template) MatchValues(uri string) (values map[string]Value, ok bool) {
	m := matcher{t: t}
	if !m.match(uri) {
		return nil, false
	}
	values = make(map[string]Value, len(m.found))
	for _, f := range m.found {
		values[f.name] = f.value
	}
	return values, true
}

// Items returns the list, or nil if the Value is not one.
func (v Value) Items() []string { return v.list }

// Entries returns the pairs, or nil if the Value has none.
func (v Value) Entries() []Pair { return v.pairs }
