package rulematch

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b", true}, {"**", "", true}, {"?", "", false}, {"?", "é", true}, {"??", "é", false},
		{"a*c", "abbc", true}, {"a*c", "abcb", false}, {"*a*b*", "xxaxxbxx", true}, {"*a*b*", "xxbxxaxx", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"*.go", "x.go", true}, {"*.go", "x.gox", false}, {"délete_*", "délete_all", true}, {"d?lete_*", "délete_all", true}, {"ab", "abc", false}, {"abc", "ab", false},
	} {
		if got := Glob(c.pattern, c.text); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.text, got)
		}
	}
	if Glob(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 5000)) { // a hang guard: quadratic at most
		t.Error("matched")
	}
}

// TestArgsInOtherSpellings treats an argument in another spelling as one that a
// careless server may read.
func TestArgsInOtherSpellings(t *testing.T) {
	patterns := map[string]string{"path": "/ok/*"}
	for args, want := range map[string][2]bool{ // allow, deny
		`{"path":"/ok/a"}`:              {true, true},
		`{"Path":"/ok/a"}`:              {false, true},
		`{"path":"/ok/a","PATH":"/no"}`: {false, true},
		`{"path":"/no","PATH":"/ok/a"}`: {false, true},
		`{"path":"/no"}`:                {false, false},
		`{"path":"/ok/a/../b"}`:         {false, true},
		`{"path":"/ok/%252e%252e/b"}`:   {false, true},
		`{"p\u0061th":"/ok/a"}`:         {true, true},
		`{}`:                            {false, false},
		``:                              {false, false},
		`[]`:                            {false, true},
		`{"path":"/ok/a"`:               {false, true},
	} {
		if got := [2]bool{Args(patterns, []byte(args), true), Args(patterns, []byte(args), false)}; got != want {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}

func TestURI(t *testing.T) {
	for uri, want := range map[string][2]bool{ // allow, deny
		"file:///keys/a":          {true, true},
		"FILE:///Keys/a":          {false, true},
		"file:///%6Beys/a":        {false, true},
		"file:///%256Beys/a":      {false, true},
		"file:///x/../keys/a":     {false, true},
		"file:///docs/a":          {false, false},
		"file:///docs/keys/a":     {false, false},
		"file:/keys/a":            {false, true},
		"file:////keys//a":        {false, true},
		"file:///./keys/a":        {false, true},
		"file:///%2e/keys/a":      {false, true},
		"file:///keys./a":         {false, true},
		"file:///keys%20/a":       {false, true},
		"file://localhost/keys/a": {false, true},
		"file:\\\\\\keys\\a":      {false, true},
		" file:///keys/a":         {false, true},
		"file:///keys/%2e%2e/":    {false, true},
	} {
		if got := [2]bool{URI("file:///keys/*", uri, true), URI("file:///keys/*", uri, false)}; got != want {
			t.Errorf("%s: %v, want %v", uri, got, want)
		}
	}
}

// A pattern without a scheme matches other spellings, too.
func TestURIWithoutScheme(t *testing.T) {
	for uri, want := range map[string]bool{"file:///x/keys/a": true, "file:///x/./keys//a": true, "file:/keys./a": true, "file:///x/docs/a": false} {
		if got := URI("*/keys/*", uri, false); got != want {
			t.Errorf("%s: %v", uri, got)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*b?", "axxb1")
	f.Add("*", "\xff")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 100 {
			return
		}
		if !Glob("*"+pattern+"*", "x"+text) && Glob(pattern, text) {
			t.Errorf("%q matches %q, but not with stars", pattern, text)
		}
	})
}
