package uritemplate

import "fmt"

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
