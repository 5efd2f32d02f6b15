package rawjson

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{}`, `{}`},
		{`{"a":1}`, `{"a":1}`},
		{`{"x":1}`, ``},
		{`{"x":1,"x2":2}`, ``},
		{`{"x":1,"a":2}`, `{"a":2}`},
		{`{"a":2,"x":1}`, `{"a":2}`},
		{`{"a":2, "b" : 3 ,"x":1, "c":4}`, `{"a":2, "b" : 3,"c":4}`},
		{` { "x":1, "a":{"x":1}, "x2":[], "b":"x" } `, `{"a":{"x":1},"b":"x"}`},
		{`{"\u0078":1,"a":2}`, `{"a":2}`},
		{`[1]`, `[1]`},
		{` { "a" : [1] , "x":1 } `, `{"a" : [1]}`},
		{`{"a":1
		,"x":{},"x2":[]}`, `{"a":1}`},
	} {
		got := Cut([]byte(tc.in), func(name, _ []byte) bool { return strings.HasPrefix(string(name), "x") })
		if string(got) != tc.want {
			t.Errorf("Cut(%s) = %s, want %s", tc.in, got, tc.want)
		}
		own := CutOwn([]byte(tc.in), func(name, _ []byte) bool { return strings.HasPrefix(string(name), "x") })
		if string(AppendCanonical(nil, own)) != string(AppendCanonical(nil, []byte(tc.want))) || own != nil && Check(own) != nil {
			t.Errorf("CutOwn(%s) = %s, want the same as %s", tc.in, own, tc.want)
		}
	}
}

func TestInside(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: ``, ` { } `: ``, ``: ``, `[1]`: ``, `{`: ``,
		`{"a":1}`: `"a":1`, " { \"a\" : 1\n, \"b\":2 }\n": "\"a\" : 1\n, \"b\":2",
	} {
		if got := string(Inside([]byte(in))); got != want {
			t.Errorf("Inside(%q) = %q, want %q", in, got, want)
		}
	}
}
