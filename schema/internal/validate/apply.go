package validate

import (
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

func (r *run) number(n *numberRules, text []byte) bool {
	v := numberOf(text)
	r.spend(n.cost + v.cost())
	good := true
	if n.min != nil && v.compare(n.min) < 0 {
		good = r.wrongf("must be at least %s", n.min)
	}
	if n.max != nil && v.compare(n.max) > 0 {
		good = r.wrongf("must be at most %s", n.max)
	}
	if n.above != nil && v.compare(n.above) <= 0 {
		good = r.wrongf("must be more than %s", n.above)
	}
	if n.below != nil && v.compare(n.below) >= 0 {
		good = r.wrongf("must be less than %s", n.below)
	}
	if n.multiple != nil && !v.isMultiple(n.multiple) {
		good = r.wrongf("must be a multiple of %s", n.multiple)
	}
	return good
}

func (r *run) text(t *textRules, i int32) bool {
	text := r.doc.bytes(i)
	r.spend(len(text) / bytesPerStep)
	good := true
	if t.min > 0 || t.max >= 0 {
		n := utf8.RuneCount(text)
		if n < t.min {
			good = r.wrongf("must have at least %s, not %d", words.Characters(t.min), n)
		}
		if t.max >= 0 && n > t.max {
			good = r.wrongf("must have at most %s, not %d", words.Characters(t.max), n)
		}
	}
	if t.pattern != nil && (good || r.loud) && !r.matches(t.pattern, text) {
		good = r.wrongf("%s does not match the pattern %s", quoted(text), words.Clip(t.pattern.source))
	}
	if t.format != nil && (good || r.loud) && !t.format.Valid(string(text)) {
		good = r.wrongf("expected %s, got %s", t.format.Expects, quoted(text))
	}
	return good
}

func (r *run) list(l *listRules, i int32, marks []bool) bool {
	it := &r.doc.items[i]
	n := int(it.count)
	good := true
	if n < l.min {
		good = r.wrongf("must have at least %s, not %d", words.Items(l.min), n)
	}
	if l.max >= 0 && n > l.max {
		good = r.wrongf("must have at most %s, not %d", words.Items(l.max), n)
	}
	if l.rest == nothing && n > len(l.first) {
		good = r.wrongf("has %s too many", words.Items(n-len(l.first)))
	}
	if !good && !r.loud {
		return false
	}
	if len(l.first) > 0 || l.rest != nil && l.rest != nothing {
		for k, at := 0, i+1; at < it.next; k, at = k+1, r.doc.items[at].next {
			sub := l.rest
			if k < len(l.first) {
				sub = l.first[k]
			}
			if sub == nil || sub == nothing && k >= len(l.first) {
				break
			}
			if marks != nil {
				marks[k] = true
			}
			if good = r.child(sub, at, at, k) && good; !good && !r.loud {
				return false
			}
		}
	}
	if l.contains != nil {
		good = r.contains(l, i, marks) && good
	}
	if l.unique && (good || r.loud) {
		r.twins(i, func(a, b int32) (more bool) {
			good = r.wrongf("must not have equal items, but [%d] and [%d] are", a, b)
			return r.loud
		})
	}
	return good
}

func (r *run) contains(l *listRules, i int32, marks []bool) bool {
	it := &r.doc.items[i]
	n := 0
	for k, at := 0, i+1; at < it.next; k, at = k+1, r.doc.items[at].next {
		if !r.quietly(l.contains, at, nil) {
			continue
		}
		n++
		if marks != nil && l.containing {
			marks[k] = true
		} else if n >= l.least && l.most < 0 {
			return true
		}
	}
	good := true
	switch {
	case n >= l.least:
	case n == 0 && l.least == 1:
		good = r.wrongf("has no item that matches contains")
	default:
		good = r.wrongf("must have at least %s that match contains, not %d", words.Items(l.least), n)
	}
	if l.most >= 0 && n > l.most {
		good = r.wrongf("must have at most %s that match contains, not %d", words.Items(l.most), n)
	}
	return good
}

func (r *run) object(o *objectRules, i int32, marks []bool) bool {
	it := &r.doc.items[i]
	n := int(it.count)
	good := true
	if n < o.min {
		good = r.wrongf("must have at least %d properties, not %d", o.min, n)
	}
	if o.max >= 0 && n > o.max {
		good = r.wrongf("must have at most %d properties, not %d", o.max, n)
	}
	if !good && !r.loud {
		return false
	}
	r.spend(n)
	required := 0
	for k, at := 0, i+1; at < it.next; k, at = k+1, r.doc.items[at+1].next {
		name := r.doc.bytes(at)
		p := o.named[string(name)]
		if p.required {
			required++
		}
		seen, ok := r.member(o, p.node, name, at, k)
		if seen && marks != nil {
			marks[k] = true
		}
		if d, found := o.dependent[string(name)]; found && (ok || r.loud) {
			ok = r.dependent(d, string(name), i, marks) && ok
		}
		if good = ok && good; !good && !r.loud {
			return false
		}
	}
	if required < o.required {
		good = r.missing(o, i)
	}
	return good
}

// member checks one member of an object. seen reports whether a schema applied
// to it.
func (r *run) member(o *objectRules, own *node, name []byte, at int32, k int) (seen, good bool) {
	good = true
	if own != nil {
		seen, good = true, r.child(own, at, at+1, k)
	}
	for _, p := range o.patterns {
		if (good || r.loud) && r.matches(p.pattern, name) {
			seen, good = true, r.child(p.node, at, at+1, k) && good
		}
	}
	if !seen && o.rest != nil {
		seen = true
		if o.rest == nothing {
			good = r.wrongMember(at, "unknown property")
		} else {
			good = r.child(o.rest, at, at+1, k)
		}
	}
	if o.names != nil && (good || r.loud) && !r.quietly(o.names, at, nil) {
		good = r.wrongMember(at, "property name not allowed")
	}
	return seen, good
}

// dependent checks what the presence of a property requires.
func (r *run) dependent(d dependent, name string, i int32, marks []bool) bool {
	r.spend(1 + len(d.required)*int(r.doc.items[i].count)/8)
	good := true
	var without []string
	for _, other := range d.required {
		if r.doc.member(i, other) < 0 {
			without = append(without, other)
		}
	}
	if without != nil {
		good = r.wrongDependency(name, without)
	}
	if d.node != nil && (good || r.loud) {
		good = r.check(d.node, i, marks) && good
	}
	return good
}

// here applies the schemas for the value itself.
func (r *run) here(h *hereRules, i int32, marks []bool) bool {
	good := true
	if h.ref != nil {
		good = r.follow(h.ref, i, marks)
	}
	if h.dynamic != nil && (good || r.loud) {
		good = r.follow(r.outermost(h.dynamic), i, marks) && good
	}
	for _, sub := range h.all {
		if !good && !r.loud {
			return false
		}
		good = r.check(sub, i, marks) && good
	}
	if h.any != nil && (good || r.loud) {
		good = r.anyOf(h.any, i, marks) && good
	}
	if h.one != nil && (good || r.loud) {
		good = r.oneOf(h.one, i, marks) && good
	}
	if h.not != nil && (good || r.loud) && r.quietly(h.not, i, nil) {
		good = r.wrongf("must not match the schema in not")
	}
	if h.cond != nil && (good || r.loud) {
		next := h.no
		if r.maybe(h.cond, i, marks) {
			next = h.yes
		}
		if next != nil {
			good = r.check(next, i, marks) && good
		}
	}
	return good
}

func (r *run) anyOf(subs []*node, i int32, marks []bool) bool {
	good := false
	for _, sub := range subs {
		if good = r.maybe(sub, i, marks) || good; good && marks == nil {
			return true
		}
	}
	return good || r.wrongAlternatives(subs, i)
}

func (r *run) oneOf(subs []*node, i int32, marks []bool) bool {
	first := -1
	for k, sub := range subs {
		switch {
		case !r.maybe(sub, i, marks):
		case first < 0:
			first = k
		default:
			return r.wrongf("must match exactly one of the alternatives, but matches number %d and number %d", first+1, k+1)
		}
	}
	return first >= 0 || r.wrongAlternatives(subs, i)
}

// isSchema checks that a value is a schema, as the meta-schema of a dialect
// would.
func (r *run) isSchema(d dialect, i int32) bool {
	r.spend(r.size(i))
	c := compiler{doc: &r.doc, judging: true, limits: Limits{Depth: 1 << 20, Subschemas: 1 << 30}}
	c.schema(i, &resource{dialect: d}, 1)
	good := true
	for _, p := range c.problems {
		good = r.wrongf("is not a valid JSON Schema: %s", p)
	}
	return good
}
