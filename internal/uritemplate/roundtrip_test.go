package uritemplate

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// exact are templates that give every string back, as long as it has none of
// the characters in but: those also separate the values.
var exact = []struct {
	template, but string
	partial       bool // values may be left out
}{
	{"welcome://{a}", "", false},
	{"x/{a}/y/{b}", "", false},
	{"{a}-{b}", "-", false},
	{"{a}.json", "", false},
	{"{a,b}", "", false},
	{"f:///{+a}", "%", false},
	{"f:///{+a}{?b,c}", "%?", false},
	{"f:///{+a}/{b}", "%/", false},
	{"x{.a}", "", true},
	{"x{.a,b}", ".", false},
	{"x{/a}{?b}{#c}", "%", true},
	{"x{/a,b}", "", false},
	{"x{;a,b}", "", true},
	{"x{;a}/{b}", "", false},
	{"x{?a,b,c}", "", true},
	{"x?k=v{&a,b}", "", true},
	{"{a:2}/{a}", "", false},
	{"é{a}é{b}", "é", false},
}

func TestMatchUndoesExpand(t *testing.T) {
	rng := rand.New(rand.NewPCG(6570, 1))
	for _, tt := range exact {
		tmpl := mustParse(t, tt.template)
		for range 2000 {
			want := vars{}
			for _, name := range tmpl.Names() {
				if !tt.partial || rng.IntN(4) > 0 {
					want[name] = randomText(rng, tt.but)
				}
			}
			uri := tmpl.Expand(want)
			if got, ok := tmpl.Match(uri); !ok || !maps.Equal(got, want) {
				t.Fatalf("%s: %q expands to %q, which matches as %q, %v", tt.template, want, uri, got, ok)
			}
		}
	}
}

func TestMatchUndoesExpandOfLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(6570, 2))
	for _, template := range []string{"x{/a*}", "x{?a*}", "x{;a*}", "x{?b,a*}", "x{/b,a*}", "{b}{/a*}{?c*}"} {
		tmpl := mustParse(t, template)
		for range 1000 {
			want := map[string]Value{}
			for _, name := range tmpl.Names() {
				want[name] = List(randomText(rng, ""), randomText(rng, ""))
			}
			if _, ok := want["b"]; ok {
				want["b"] = String(randomText(rng, ""))
			}
			uri, err := tmpl.ExpandValues(want)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := tmpl.MatchValues(uri); !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %v expands to %q, which matches as %v, %v", template, want, uri, got, ok)
			}
		}
	}
}

// randomText makes a string of one to six characters that leaves out some.
func randomText(rng *rand.Rand, but string) string {
	left := map[rune]bool{}
	for _, r := range but {
		left[r] = true
	}
	chars := []rune("aZ0-._~%/?#&=+;:,@![] '\"{}é€😀\x00\n")
	var s []rune
	for n := 1 + rng.IntN(6); len(s) < n; {
		if r := chars[rng.IntN(len(chars))]; !left[r] {
			s = append(s, r)
		}
	}
	return string(s)
}

// FuzzMatch checks that nothing panics, that the work stays linear, that a
// template that is not matchable matches nothing, and that the values of a URI
// make a URI with the same values.
func FuzzMatch(f *testing.F) {
	for _, tt := range exact {
		f.Add(tt.template, "x/1?a=2")
	}
	for _, tt := range rfcExpansions {
		f.Add(tt.template, tt.want)
	}
	f.Add("{a}%41{b}", "%4141é%41")
	f.Fuzz(func(t *testing.T, template, uri string) {
		tmpl, err := Parse(template)
		if err != nil {
			return
		}
		m := matcher{t: tmpl}
		ok := m.match(uri)
		if limit := 12 * (len(tmpl.parts) + 1) * (len(uri) + 1); m.steps > limit {
			t.Errorf("%q on %q: %d steps, more than %d", template, uri, m.steps, limit)
		}
		if ok && tmpl.Matchable() != nil {
			t.Errorf("%q matches though it is not matchable", template)
		}
		tmpl.Expand(vars{"a": uri, "b": template})
		if ok && givesBack(tmpl) {
			checkAgain(t, tmpl, uri)
		}
	})
}

// givesBack leaves out what cannot be told from its own percent-encoding (the
// operators that keep triplets, literal text that is percent-encoded), and
// repeated variables, which a URI may leave out in one place.
func givesBack(tmpl *Template) bool {
	vars := 0
	for _, p := range tmpl.parts {
		if p.expr != nil {
			vars += len(p.expr.vars)
		}
		if p.expr != nil && p.expr.op.reserved || strings.Contains(p.anchor, "%") {
			return false
		}
	}
	return vars == len(tmpl.names)
}

func checkAgain(t *testing.T, tmpl *Template, uri string) {
	for i := range uri {
		// Expand never encodes these, so it would lose that they are no separator.
		if triplet(uri, i) && unreserved.has(unhex(uri[i+1])<<4|unhex(uri[i+2])) {
			return
		}
	}
	values, _ := tmpl.MatchValues(uri)
	second, err := tmpl.ExpandValues(values)
	if err != nil {
		t.Fatal(err)
	}
	if len(second) > MaxURI {
		return
	}
	if again, ok := tmpl.MatchValues(second); !ok || !reflect.DeepEqual(values, again) {
		t.Errorf("%q on %q = %v, but on %q, expanded from that, %v, %v", tmpl, uri, values, second, again, ok)
	}
}
