package uritemplate

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		template string
		offset   int
		reason   string // a part of it
	}{
		{"a{b", 1, "never closed"},
		{"a}b", 1, "closes nothing"},
		{"{}", 0, "empty"},
		{"{?}", 2, "name is missing"},
		{"{a,}", 3, "name is missing"},
		{"{,a}", 1, "reserved"},
		{"{=a}", 1, "reserved"},
		{"{!a}", 1, "reserved"},
		{"{@a}", 1, "reserved"},
		{"{|a}", 1, "reserved"},
		{"x{user-id}", 6, `'-'`},
		{"{a b}", 2, `' '`},
		{"{é}", 1, `'é'`},
		{"{a{b}", 2, `'{'`},
		{"{.}", 2, "name is missing"},
		{"{a.}", 2, "dot"},
		{"{a..b}", 3, "dot"},
		{"{?.a}", 2, "dot"},
		{"{a%4}", 2, `'%'`},
		{"{%ff}", 1, "UTF-8"},
		{"{a:0}", 3, "1 to 9999"},
		{"{a:03}", 3, "1 to 9999"},
		{"{a:10000}", 3, "1 to 9999"},
		{"{a:}", 3, "1 to 9999"},
		{"{a:x}", 3, "1 to 9999"},
		{"{a:+3}", 3, "1 to 9999"},
		{"{a:3*}", 3, "not both"},
		{"{a**}", 2, `'*'`},
		{"a b", 1, "%20"},
		{"a\x01", 1, "%01"},
		{"a<b", 1, "%3C"},
		{"100%", 3, "%25"},
		{"%4g", 0, "%25"},
		{"a\xff", 0, "UTF-8"},
		{strings.Repeat("a", MaxTemplate+1), MaxTemplate, "at most 8192"},
		{strings.Repeat("{a}/", MaxExpressions+1), 4 * MaxExpressions, "more than 32"},
	}
	for _, tt := range tests {
		_, err := Parse(tt.template)
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("Parse(%.40q) = %v, want a *ParseError", tt.template, err)
			continue
		}
		if pe.Offset != tt.offset || !strings.Contains(pe.Reason, tt.reason) {
			t.Errorf("Parse(%.40q): offset %d, %q; want offset %d and %q", tt.template, pe.Offset, pe.Reason, tt.offset, tt.reason)
		}
		if len(err.Error()) > 500 {
			t.Errorf("Parse(%.40q): the error text has %d bytes", tt.template, len(err.Error()))
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for _, s := range []string{
		"", "plain", "{a}", "{a.b.c}", "{_a1}", "{%41b}", "{a:9999}", "it's", "é/{a}",
		strings.Repeat("a", MaxTemplate), strings.Repeat("{a}/", MaxExpressions),
	} {
		tmpl, err := Parse(s)
		if err != nil {
			t.Errorf("Parse(%.40q): %v", s, err)
		} else if tmpl.String() != s {
			t.Errorf("String() = %.40q, want %.40q", tmpl, s)
		}
	}
}

func TestNames(t *testing.T) {
	tmpl := mustParse(t, "x{/b,a*}{?c,b:3}")
	want := []string{"b", "a", "c"}
	got := tmpl.Names()
	if !slices.Equal(got, want) {
		t.Fatalf("Names() = %q, want %q", got, want)
	}
	got[0] = "changed"
	if !slices.Equal(tmpl.Names(), want) {
		t.Error("Names() hands out the template's own slice")
	}
}

func TestMatchable(t *testing.T) {
	tests := []struct {
		template string
		refusal  string // a part of the error; empty if matchable
	}{
		{"plain", ""},
		{"{a}", ""},
		{"{a}-{b}", ""},
		{"{a,b}", ""},
		{"{a}{/b}", ""},
		{"{a}{?b,c*}", ""},
		{"{/a*}{?b}{#c}", ""},
		{"{+a}{?b}", ""},
		{"{+a}{#b}", ""},
		{"{+a}{?b}{#c}", ""},
		{"{/a,b*}", ""},
		{"{?a*,b}", ""},
		{"{?a*,b*}", ""},
		{"{a:2}/{a}", ""},
		{"{a}{b}", "where {a} ends and {b} begins; put text between them, such as {a}/{b}"},
		{"x{a}{+b}", "(offset 4)"},
		{"{a}{.b}", "where {a} ends"},
		{"{.a}{.b}", "where {.a} ends"},
		{"{/a}{/b}", "where {/a} ends"},
		{"{/a}{?q}{/b}", "where {/a} ends and {/b} begins"},
		{"{?a}{&b}", "where {?a} ends"},
		{"{+a}{/b}", "where {+a} ends"},
		{"{#a}{?b}", "where {#a} ends"},
		{"{?a}{b}", "where {?a} ends"},
		{"{a*,b}", `list "a" ends; put it last`},
		{"{/a*,b*}", `list "a" ends; put it last`},
		{"{a:3}", "drop the :3"},
		{"{a:3}/{a:4}", "drop the :3"},
	}
	for _, tt := range tests {
		err := mustParse(t, tt.template).Matchable()
		switch {
		case tt.refusal == "" && err != nil:
			t.Errorf("%s: %v", tt.template, err)
		case tt.refusal != "" && (err == nil || !strings.Contains(err.Error(), tt.refusal)):
			t.Errorf("%s: Matchable() = %v, want an error with %q", tt.template, err, tt.refusal)
		}
	}
}

func mustParse(t testing.TB, s string) *Template {
	t.Helper()
	tmpl, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}
