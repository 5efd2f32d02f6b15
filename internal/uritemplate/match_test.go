package uritemplate

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

type vars = map[string]string

func TestMatch(t *testing.T) {
	tests := []struct {
		template, uri string
		want          vars // nil: no match
	}{
		{"", "", vars{}},
		{"", "x", nil},
		{"test://static", "test://static", vars{}},
		{"test://static", "test://static2", nil},
		{"test://static", "test://stati", nil},

		{"welcome://{userId}", "welcome://ada", vars{"userId": "ada"}},
		{"welcome://{userId}", "welcome://", nil},
		{"welcome://{userId}", "welcome://a/b", nil},
		{"welcome://{userId}", "welcome://a%2Fb", vars{"userId": "a/b"}},
		{"welcome://{userId}", "welcome://a?b", nil},
		{"welcome://{userId}", "welcome://a#b", nil},
		{"welcome://{userId}", "welcome://ada@example.com", vars{"userId": "ada@example.com"}},
		{"welcome://{userId}", "welcome://é", vars{"userId": "é"}},
		{"welcome://{userId}", "welcome://a b", nil},
		{"welcome://{userId}", "welcome://a\x00", nil},
		{"welcome://{userId}", "Welcome://a", nil},
		{"welcome://{userId}", "xwelcome://a", nil},
		{"x/{a}/y", "x/1/y", vars{"a": "1"}},
		{"x/{a}/x/", "x/x/", nil}, // the literals must not overlap

		// Decoded exactly once, and to UTF-8.
		{"{a}", "%2541", vars{"a": "%41"}},
		{"{a}", "%41+b", vars{"a": "A+b"}},
		{"{a}", "%ff", nil},
		{"{a}", "%C3", nil},
		{"{a}", "%C3%A9", vars{"a": "é"}},
		{"{a}", "\xff", nil},
		{"{a}", "%", nil},
		{"{a}", "%4", nil},
		{"{a}", "%4g", nil},
		{"{a}4{b}", "%414z", vars{"a": "A", "b": "z"}},
		{"{a}1", "%41", nil},
		{"{a}41{/b}", "%41", nil}, // no value ends inside a triplet
		{"é/{a}", "é/1", vars{"a": "1"}},
		{"é/{a}", "%c3%A9/1", vars{"a": "1"}},

		// As little as possible, from the left, but the whole URI.
		{"{a}-{b}", "x-y-z", vars{"a": "x", "b": "y-z"}},
		{"{a}-{b}", "x%2Dy-z", vars{"a": "x-y", "b": "z"}},
		{"{a}.json", "a.json.json", vars{"a": "a.json"}},
		{"{+a}-{b}/x", "p-q/r-s/x", vars{"a": "p-q/r", "b": "s"}},
		{"{a}.{b}.{c}", "1.2.3.4", vars{"a": "1", "b": "2", "c": "3.4"}},
		{"{a}--{b}", "x---y", vars{"a": "x", "b": "-y"}},
		{"{a}-{b}", "x-", nil},
		{"{a}-{b}", "-x", nil},

		{"file:///{+path}", "file:///a/b%20c?d#e", vars{"path": "a/b c?d#e"}},
		{"file:///{+path}", "file:///", nil},
		{"f/{+path}{?q}", "f/a/b?q=1", vars{"path": "a/b", "q": "1"}},
		{"f/{+path}{?q}{#h}", "f/a/b#top", vars{"path": "a/b", "h": "top"}},
		{"f/{+path}{?q}{#h}", "f/a/b?q=#", vars{"path": "a/b", "q": "", "h": ""}},

		{"{a,b}", "1,2", vars{"a": "1", "b": "2"}},
		{"{a,b}", "1", vars{"a": "1"}},
		{"{a,b}", "1,2,3", vars{"a": "1", "b": "2,3"}},
		{"{a*}", "1,2,3", vars{"a": "1,2,3"}},
		{"x{.a,b}", "x.1.2.3", vars{"a": "1", "b": "2.3"}},
		{"x{.a*}", "x.1.2.3", vars{"a": "1.2.3"}},
		{"x{.a}", "x", vars{}},
		{"x{.a}", "x.", vars{"a": ""}},

		{"x{/a}", "x/1", vars{"a": "1"}},
		{"x{/a}", "x", vars{}},
		{"x{/a}", "x1", nil},
		{"x{/a}", "x/1/2", nil},
		{"x{/a,b}", "x/1/2", vars{"a": "1", "b": "2"}},
		{"x{/a,b}", "x/1/2/3", nil},
		{"x{/a*}", "x/1/2%2F/3", vars{"a": "1/2//3"}},
		{"x{/a,b*}", "x/1/2/3", vars{"a": "1", "b": "2/3"}},
		{"x{/a}/{b}", "x/1/2", vars{"a": "1", "b": "2"}},
		{"x{/a}/{b}", "x/1", vars{"b": "1"}},
		{"x{/a*}{?q}", "x/1/2?q=/", vars{"a": "1/2", "q": "/"}},

		{"x{;a,b}", "x;b=2;a", vars{"a": "", "b": "2"}},
		{"x{;a*}", "x;a=1;a=2", vars{"a": "1,2"}},
		{"x{/a}{;b}", "x/1;b=2", vars{"a": "1", "b": "2"}},

		{"x{?a,b}", "x?a=1&b=2", vars{"a": "1", "b": "2"}},
		{"x{?a,b}", "x?b=2&a=1", vars{"a": "1", "b": "2"}},
		{"x{?a,b}", "x?b=2", vars{"b": "2"}},
		{"x{?a,b}", "x", vars{}},
		{"x{?a,b}", "x?", vars{}},
		{"x{?a,b}", "x?a=1&c=3", nil},
		{"x{?a,b}", "x?a=1&a=2", nil},
		{"x{?a,b}", "x?a=1&", nil},
		{"x{?a}", "x?a=b=c%26d", vars{"a": "b=c&d"}},
		{"x{?a}", "x?A=1", nil},
		{"x{?a}", "x?%61=1", vars{"a": "1"}},
		{"x{?%c3%a9}", "x?é=1", vars{"%c3%a9": "1"}},
		{"x?k=v{&a}", "x?k=v&a=1", vars{"a": "1"}},
		{"x{?tags*}", "x?tags=1&tags=2", vars{"tags": "1,2"}},
		{"x{?a,more*}", "x?b=2&a=1&c=", vars{"a": "1", "more": "b=2,c="}},
		{"x{?a*,b*}", "x?b=2&a=1&b=3", vars{"a": "1", "b": "2,3"}},
		{"x{?a*,b*}", "x?c=2", nil},
		{"x{?a*}", "x?=2", nil},

		{"{a}/{a}", "1/1", vars{"a": "1"}},
		{"{a}/{a}", "1/2", nil},
		{"{a:1}/{a}", "a/abc", vars{"a": "abc"}},
		{"{a:2}/{a}", "a/abc", nil},
		{"{a:2}/{a}", "xx/abc", nil},

		{"{a}{b}", "xy", nil}, // not matchable
	}
	for _, tt := range tests {
		got, ok := mustParse(t, tt.template).Match(tt.uri)
		if ok != (tt.want != nil) || !maps.Equal(got, tt.want) {
			t.Errorf("%s on %q = %q, %v; want %q", tt.template, tt.uri, got, ok, tt.want)
		}
	}
}

func TestMatchValues(t *testing.T) {
	tests := []struct {
		template, uri string
		want          map[string]Value
	}{
		{"x{/a*}", "x/1/2%2F3", map[string]Value{"a": List("1", "2/3")}},
		{"x{?a*}", "x?a=1&a=2%2C3", map[string]Value{"a": List("1", "2,3")}},
		{"x{?a*}", "x?b=1&a=2", map[string]Value{"a": Pairs(Pair{"b", "1"}, Pair{"a", "2"})}},
		{"x{?a}", "x?a=1,2", map[string]Value{"a": String("1,2")}},
	}
	for _, tt := range tests {
		got, ok := mustParse(t, tt.template).MatchValues(tt.uri)
		if !ok || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s on %q = %v, %v; want %v", tt.template, tt.uri, got, ok, tt.want)
		}
	}
}

func TestMatchRefusesALongURI(t *testing.T) {
	tmpl := mustParse(t, "{a}")
	if _, ok := tmpl.Match(strings.Repeat("a", MaxURI)); !ok {
		t.Error("a URI of the greatest length does not match")
	}
	if _, ok := tmpl.Match(strings.Repeat("a", MaxURI+1)); ok {
		t.Error("a URI beyond the bound matches")
	}
}

// TestMatchIsLinear counts characters looked at. A matcher that tries again
// would need 50,000² of them for these URIs (hostile row M38).
func TestMatchIsLinear(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, 50_000/len(s)) }
	tests := []struct{ template, uri string }{
		{"file:///x{/id*}", "file:///x/" + long(",") + "!"},
		{"file:///x{/id*}", "file:///x" + long("/") + " "},
		{"x{?tags*}", "x?tags=" + long(",") + "!"},
		{"x{?tags*}", "x?" + long("tags=&")},
		{"x{?tags*}", "x?" + long("tags=,") + "["},
		{"{a}-{b}-{c}-{d}", long("-") + "/"},
		{"{+a}-{+b}-{+c}-{+d}x", long("-") + "x"},
		{"{+a}aaaaaaaa{+b}aaaaaaaa{+c}b", long("a") + "c"},
		{"{/a*}{?b*}{#c*}", long("/") + long("?") + "#" + "é"},
		{strings.Repeat("{+v}a", 31) + "{+v}", long("a") + "b"},
		{"{a}%C3%A9{b}", long("é") + "/"},
	}
	for _, tt := range tests {
		tmpl := mustParse(t, tt.template)
		if err := tmpl.Matchable(); err != nil {
			t.Fatal(err)
		}
		m := matcher{t: tmpl}
		m.match(tt.uri)
		// Each part may look at each character (three after é became %C3%A9) a few times.
		if limit := 4 * 3 * (len(tmpl.parts) + 1) * len(tt.uri); m.steps > limit {
			t.Errorf("%.40s on %.20q…: %d steps, more than %d", tt.template, tt.uri, m.steps, limit)
		}
	}
}
