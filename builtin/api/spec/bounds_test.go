package spec

import (
	"fmt"
	"strings"
	"testing"
)

// A mapping has at most 1000 names, in braces or not, and no other number in a file
// counts for it: the parser and the checks take long for more.
func TestMappingsHaveAtMost1000Names(t *testing.T) {
	t.Parallel()
	file := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	head := "tenon: api/1\nname: x\napi: {base: \"https://api.example.com\"}\ntools:\n"
	many := "  t: {description: d, request: POST /x}\nparams:\n"
	for name, c := range map[string]struct{ content, want string }{
		"tools":          {head + file("  t%d: {description: d, request: GET /x}\n", 1001), "f:1005:3: the mapping has more than 1000 names"},
		"as many":        {head + file("  t%d: {description: d, request: GET /x}\n", 1000), ""},
		"unknown":        {head + "  t: {description: d, request: GET /x}\n" + file("k%d: 1\n", 60_000), "f:1002:1: the mapping has more than 1000 names"},
		"deep":           {head + many + "  p:\n    properties:\n" + file("      k%d: {}\n", 150_000), "f:1009:7: the mapping has more than 1000 names"},
		"in braces":      {head + "  t: {description: d, request: {method: POST, path: /x, body: {" + file("k%d: 1, ", 100_000) + "}}}\n", "f:5:64: the mapping has more than 1000 names"},
		"small mappings": {head + many + "  p:\n    enum:\n" + file("      - a: %d\n        b: 1\n", 2000), ""},
		"a text":         {head + "  t:\n    request: GET /x\n    description: |\n" + file("      k%d: 1\n", 2000), ""},
	} {
		_, err := Load("f", []byte(c.content))
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
			t.Errorf("%s: got %.200s, want %q", name, got, c.want)
		}
	}
}

// The first 100 mistakes are shown, and the number of the others.
func TestMistakesBeyond100AreCounted(t *testing.T) {
	t.Parallel()
	p := &Problems{File: "f"}
	for i := range 102 {
		p.List = append(p.List, Problem{Line: i + 1, Column: 1, Message: "wrong"})
	}
	lines := strings.Split(p.Error(), "\n")
	if len(lines) != 101 || lines[99] != "f:100:1: wrong" || lines[100] != "f: 2 more mistakes are not shown" {
		t.Errorf("got %d lines, the last %q", len(lines), lines[99:])
	}
	p.List = p.List[:101]
	if want := "\nf: 1 more mistake is not shown"; !strings.HasSuffix(p.Error(), want) {
		t.Errorf("got %q, want %q", p.Error(), want)
	}
	p.List = p.List[:100]
	if want := "\nf:100:1: wrong"; !strings.HasSuffix(p.Error(), want) {
		t.Errorf("got %q, want %q", p.Error(), want)
	}
}
