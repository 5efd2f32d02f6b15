package uritemplate

import "strings"

// Match returns the values with which the template expands to the URI; ok is false
// if there are none. A variable that is absent from the URI is not in the map.
//
// An expression matches as follows:
//
//   - {a} matches one or more characters of a path segment: no / ? # [ ].
//     {+a} matches one or more characters of any kind.
//   - {.a} {/a} {;a} {?a} {&a} {#a} match their leading character and a value, or
//     nothing. {/a} matches one segment.
//   - {?a,b}, {&a,b} and {;a,b} match their parameters in any order, each at most
//     once, and no other parameters.
//   - Otherwise {a,b} assigns values from the left: with fewer values than
//     variables the last ones are absent; with more, the last variable has the
//     rest, except that {/a,b} never matches a third segment.
//   - {a*} matches any number of values, joined in the result: with / for {/a*},
//     with . for {.a*}, and with a comma otherwise. {?a*} matches every a=…; and if
//     it is the only exploded variable of the expression, also other parameters,
//     as name=value.
//
// If text may belong to several expressions, each matches as little as possible,
// from left to right: {a}-{b} splits "x-y-z" into "x" and "y-z" ("x%2Dy-z" keeps
// its first two together), and a {+path} directly before {?q} ends at the first
// question mark.
//
// A variable that appears more than once must have the same value each time;
// {a:3} must be its first three characters.
//
// Values are percent-decoded once (a + stays a +) and are valid UTF-8. They can
// contain any character: {id} yields "../x" for "..%2Fx", so check a value before
// using it as a file name. Literal text must be spelled as in the template, except
// that é and %C3%A9, and %2f and %2F, are the same.
func (t *Template) Match(uri string) (values map[string]string, ok bool) {
	m := matcher{t: t}
	if !m.match(uri) {
		return nil, false
	}
	values = make(map[string]string, len(m.found))
	for _, f := range m.found {
		values[f.name] = f.value.join(f.joint)
	}
	return values, true
}

// A matcher is one attempt to match.
type matcher struct {
	t     *Template
	uri   string  // in normal form
	found []found // each name once
	cuts  []taken // values of {name:3}
	steps int     // number of characters visited, for tests
}

type found struct {
	name  string
	value Value
	joint string
}

type taken struct {
	variable variable
	text     string
}

// match works in three steps: divide the URI among the expressions, read the
// values in each part, compare repeated variables.
func (m *matcher) match(uri string) bool {
	if m.t.unmatched != nil || len(uri) > MaxURI {
		return false
	}
	var ok bool
	m.steps += len(uri)
	if m.uri, ok = normal(uri); !ok {
		return false
	}
	parts, start, end := m.t.parts, 0, len(m.uri)
	if len(parts) > 0 && parts[0].expr == nil {
		if !strings.HasPrefix(m.uri, parts[0].anchor) {
			return false
		}
		start, parts = len(parts[0].anchor), parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].expr == nil {
		anchor := parts[n-1].anchor
		if !strings.HasSuffix(m.uri[start:], anchor) {
			return false
		}
		end, parts = end-len(anchor), parts[:n-1]
	}
	switch len(parts) {
	case 0:
		return start == end
	case 1:
		e := parts[0].expr
		ok = m.fits(e, start, end) && m.read(e, m.uri[start:end])
	default:
		ok = m.divide(parts, start, end)
	}
	return ok && m.cutsAgree()
}

// fits reports whether the expression can match all of uri[start:end].
func (m *matcher) fits(e *expression, start, end int) bool {
	if start == end {
		return e.optional()
	}
	if !strings.HasPrefix(m.uri[start:end], e.op.lead) {
		return false
	}
	for i := start + len(e.op.lead); i < end; i++ {
		m.steps++
		if !e.body.has(m.uri[i]) {
			return false
		}
	}
	return m.boundary(start) && m.boundary(end)
}

// boundary reports whether i is not inside a percent-triplet.
func (m *matcher) boundary(i int) bool {
	return !(i >= 1 && m.uri[i-1] == '%' || i >= 2 && m.uri[i-2] == '%')
}

// divide divides uri[start:end] among the parts.
//
// It works backwards first: fit[k] has the positions from which parts[k:] can
// match everything up to the end, which takes one pass over the URI for each part.
// Then it works forwards and ends each expression at the first position from which
// the rest matches.
func (m *matcher) divide(parts []part, start, end int) bool {
	fit := make([]positions, len(parts)+1)
	words := (end-start)/64 + 1
	room := make(positions, words*len(fit))
	for k := range fit {
		fit[k] = room[k*words : (k+1)*words]
	}
	fit[len(parts)].add(end - start)
	for k := len(parts) - 1; k >= 0; k-- {
		if e := parts[k].expr; e != nil {
			m.fitExpression(e, fit[k], fit[k+1], start, end)
		} else {
			m.fitLiteral(parts[k].anchor, fit[k], fit[k+1], start, end)
		}
	}
	if !fit[0].has(0) {
		return false
	}
	at := start
	for k, p := range parts {
		if p.expr == nil {
			at += len(p.anchor)
			continue
		}
		from := at
		if !fit[k+1].has(at-start) || !p.expr.optional() {
			at += max(1, len(p.expr.op.lead))
			for !fit[k+1].has(at-start) || !m.boundary(at) {
				m.steps++
				at++
			}
		}
		if !m.read(p.expr, m.uri[from:at]) {
			return false
		}
	}
	return true
}

// fitExpression fills here with the positions from which the expression can
// reach a position in next.
func (m *matcher) fitExpression(e *expression, here, next positions, start, end int) {
	reach := false // whether the characters from i on can reach a position in next
	for i := end; i >= start; i-- {
		m.steps++
		inside := i < end && e.body.has(m.uri[i])
		after := reach // the same for i+1
		reach = reach && inside
		stop := next.has(i-start) && m.boundary(i)
		switch {
		case e.op.lead == "":
			if inside && after && m.boundary(i) {
				here.add(i - start)
			}
		case stop, i < end && m.uri[i] == e.op.lead[0] && after:
			here.add(i - start)
		}
		reach = reach || stop
	}
}

// fitLiteral fills here with the positions of the text s that are followed by a
// position in next.
func (m *matcher) fitLiteral(s string, here, next positions, start, end int) {
	for i := end - len(s); i >= start; i-- {
		m.steps++
		if next.has(i+len(s)-start) && m.uri[i:i+len(s)] == s {
			here.add(i - start)
		}
	}
}

// positions is a set of small numbers.
type positions []uint64

func (p positions) has(i int) bool { return p[i/64]>>(i%64)&1 == 1 }
func (p positions) add(i int)      { p[i/64] |= 1 << (i % 64) }
