package uritemplate

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestMatchAgreesWithTryingEverything compares the matcher with one that
// tries every way to divide a short URI, shortest first.
func TestMatchAgreesWithTryingEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(6570, 3))
	pick := func(from []string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(from[rng.IntN(len(from))])
		}
		return b.String()
	}
	pieces := []string{"{a}", "{+b}", "{/c}", "{/d*}", "{?e}", "{.f}", "{#g}", "{;h}", "a", "-", "/", ".", "a-", "4"}
	chars := []string{"a", "-", "/", ".", "?e=a", "#", ";h", "%41", "4", "é"}
	matched := 0
	for range 60_000 {
		tmpl := mustParse(t, pick(pieces, 1+rng.IntN(6)))
		if tmpl.Matchable() != nil {
			continue
		}
		uri := pick(chars, rng.IntN(8))
		got, ok := tmpl.MatchValues(uri)
		want, wantOK := tryEverything(tmpl, uri)
		if ok != wantOK || ok && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s on %q = %v, %v; trying everything gives %v, %v", tmpl, uri, got, ok, want, wantOK)
		}
		if ok {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d URIs matched: the test is too weak", matched)
	}
}

func tryEverything(tmpl *Template, uri string) (map[string]Value, bool) {
	m := matcher{t: tmpl}
	var ok bool
	if m.uri, ok = normal(uri); !ok {
		return nil, false
	}
	stretches, ok := m.try(tmpl.parts, 0)
	if !ok {
		return nil, false
	}
	for _, p := range tmpl.parts {
		if p.expr == nil {
			continue
		}
		if !m.read(p.expr, stretches[0]) {
			return nil, false
		}
		stretches = stretches[1:]
	}
	values := map[string]Value{}
	for _, f := range m.found {
		values[f.name] = f.value
	}
	return values, true
}

// try returns the stretch of each expression in parts, which take uri[at:].
func (m *matcher) try(parts []part, at int) ([]string, bool) {
	if len(parts) == 0 {
		return nil, at == len(m.uri)
	}
	e := parts[0].expr
	if e == nil {
		if !strings.HasPrefix(m.uri[at:], parts[0].anchor) {
			return nil, false
		}
		return m.try(parts[1:], at+len(parts[0].anchor))
	}
	for end := at; end <= len(m.uri); end++ {
		if !m.boundary(end) || !m.fits(e, at, end) {
			continue
		}
		if rest, ok := m.try(parts[1:], end); ok {
			return append([]string{m.uri[at:end]}, rest...), true
		}
	}
	return nil, false
}
