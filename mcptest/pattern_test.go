package mcptest

import (
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, tc := range []struct{ pattern, got, want string }{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, ""},
		{`*`, `{"a":1}`, ""},
		{`{"a":*}`, `{"a":{"b":[]}}`, ""},
		{`{"a":1,…}`, `{"a":1,"b":2}`, ""},
		{`{"a":1,...}`, `{"a":1}`, ""},
		{`{…}`, `{"a":1}`, ""},
		{`[1,…]`, `[1,2,3]`, ""},
		{`[…]`, `[]`, ""},
		{`{"a":$x,"b":$x}`, `{"a":"s","b":"\u0073"}`, ""},
		{`"\u0041"`, `"A"`, ""},
		{`1.50`, `1.5`, ""},
		{`"…"`, `"…"`, ""},
		{`"*"`, `"*"`, ""},
		{`"$x"`, `"$x"`, ""},

		{`{"a":1}`, `{"a":2}`, "a: got 2, want 1"},
		{`{"a":1}`, `{"a":"1"}`, `a: got "1", want 1`},
		{`{"a":1}`, `{"a":1,"b":2}`, "b: unexpected 2"},
		{`{"a":1,"b":2}`, `{"a":1}`, "b: missing"},
		{`[1]`, `[1,2]`, "[1]: unexpected 2"},
		{`[1,2]`, `[1]`, "[1]: missing"},
		{`{"a":[{"b":1}]}`, `{"a":[{"b":2}]}`, "a[0].b: got 2, want 1"},
		{`{"a":$x,"b":$x}`, `{"a":1,"b":2}`, "b: got 2, want 1 as $x"},
		{`"*"`, `"x"`, `the value: got "x", want "*"`},
		{`{}`, `[]`, "want an object"},
		{`[]`, `{}`, "want an array"},
		{`null`, `false`, "got false, want null"},
		{`9007199254740993`, `9007199254740992`, "want 9007199254740993"},
	} {
		p, err := parsePattern(tc.pattern)
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		err = p.match([]byte(tc.got), captures{})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s with %s: got %v, want %q", tc.pattern, tc.got, err, tc.want)
		}
		if err := p.merge([]byte(tc.got)).match([]byte(tc.got), captures{}); err != nil && !strings.Contains(tc.want, "$x") {
			t.Errorf("%s merged with %s does not match it: %v", tc.pattern, tc.got, err)
		}
	}
}

func TestPatternsThatCannotBeRead(t *testing.T) {
	for pattern, want := range map[string]string{
		``:              "a value is missing",
		`{"a":1`:        "a closing } is missing",
		`[1 2]`:         "expected a comma",
		`{"a" 1}`:       "expected a name and a colon",
		`{a:1}`:         "expected a name and a colon",
		`{…,"a":1}`:     "… must be the last",
		`$`:             "a name is missing",
		`nonsense`:      "neither JSON nor",
		`{} {}`:         "after the value",
		`"not finished`: "neither JSON nor",
	} {
		if _, err := parsePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pattern, err, want)
		}
	}
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct{ pattern, got, want string }{
		{`{"a":*,"b":$x,"c":1}`, `{"c":2,"b":3,"a":4}`, `{"a":*,"b":$x,"c":2}`},
		{`{"a":1,…}`, `{"a":2,"b":3}`, `{"a":2,…}`},
		{`{"a":1,"gone":2}`, `{"a":1,"new":[{"x":null}]}`, `{"a":1,"new":[{"x":null}]}`},
		{`[{"id":*,"v":1}]`, `[{"id":7,"v":2},{"id":8}]`, `[{"id":*,"v":2},{"id":8}]`},
		{`[1,…]`, `[2,3]`, `[2,…]`},
		{`1`, `{"a":1}`, `{"a":1}`},
	} {
		p, err := parsePattern(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.merge([]byte(tc.got)).String(); got != tc.want {
			t.Errorf("%s with %s: got %s, want %s", tc.pattern, tc.got, got, tc.want)
		}
	}
}

func TestFill(t *testing.T) {
	kept := captures{"x": `"v"`}
	if got, want := kept.fill(`{"a":$x,"b":"$x","c":$y}`), `{"a":"v","b":"$x","c":$y}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A match that fails must not leave captures behind for the next try.
func TestMatchThatFailsKeepsNothing(t *testing.T) {
	p, err := parsePattern(`[$x,2]`)
	if err != nil {
		t.Fatal(err)
	}
	kept := captures{}
	if p.match([]byte(`[1,3]`), kept) == nil || len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
	if err := p.match([]byte(`[5,2]`), kept); err != nil || kept["x"] != "5" {
		t.Errorf("kept %v, %v", kept, err)
	}
}
