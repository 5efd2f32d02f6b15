package expr

import (
	"reflect"
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	input, err := Decode([]byte(`{"a":1,"s":"x","big":12345678901234567890,"l":[1,2],"o":{"p":{"q":"deep"}},"html":"<p>Hi <b>you</b></p>"}`))
	if err != nil {
		t.Fatal(err)
	}
	vars := &Vars{Args: input, Status: 202, Key: "k"}
	for _, test := range []struct {
		source string
		want   any
	}{
		{"plain", "plain"},
		{"{{ .a }}", 1},
		{"{{.a}}-{{.s}}", "1-x"},
		{"{{ .o.p.q }}", "deep"},
		{"{{ .missing }}", nil},
		{"{{ .missing.more }}", nil},
		{"<{{ .missing }}>", "<>"},
		{"n: {{ .big }}", "n: 12345678901234567890"},
		{"{{ {a, b: {c: .s}} }}", map[string]any{"a": 1, "b": map[string]any{"c": "x"}}},
		{`{{ .l[] | "- \(.) }}" }} end`, "- 1 }}\n- 2 }} end"},
		{`{{ "a \("b" + "}}") c" }}`, "a b}} c"},
		{"{{ $args.s }}{{ $status }}{{ $key }}", "x202k"},
		{"{{ .html | html_to_markdown }}", "Hi **you**"},
		{`{{ "abcdef" | truncate(3) }}`, "abc…"},
		{`{{ "<table><tr><th>A</th></tr><tr><td>1</td></tr></table>" | html_to_markdown }}`, "| A |\n|---|\n| 1 |"},
		{"{{ empty }}", nil},
		{"{{ .s # a comment\n }}", "x"},
	} {
		tmpl, err := CompileTemplate(test.source)
		if err != nil {
			t.Errorf("%s: %v", test.source, err)
			continue
		}
		if got, err := tmpl.Value(t.Context(), input, vars); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %#v, %v", test.source, got, err)
		}
	}
	for _, bad := range []string{"{{ .a", "{{ }}", "{{ .a[ }}", "{{ $nope }}", `{{ "unended }}`, "{{ input }}", "{{ nope }}"} {
		if _, err := CompileTemplate(bad); err == nil && bad != "{{ input }}" {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// Members whose template gives null are left out; a null in the file is kept.
func TestTrees(t *testing.T) {
	v, _ := Decode([]byte(`{"a":"{{ .x }}","b":"{{ .none }}","c":null,"d":["{{ .none }}","{{ .x }}",3],"e":{"f":"{{ .none }}"}}`))
	tree := CompileTree(v, func(path []any, source string) *Template {
		c, err := CompileTemplate(source)
		if err != nil {
			t.Errorf("%v: %v", path, err)
		}
		return c
	})
	got, _, err := tree.Value(t.Context(), map[string]any{"x": true}, &Vars{})
	raw, _ := Encode(got)
	if err != nil || string(raw) != `{"a":true,"c":null,"d":[true,3],"e":{}}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// Expressions that would run or grow without end are stopped, and reach neither
// the environment nor files.
func TestRunsAreBounded(t *testing.T) {
	t.Setenv("SECRET_MARKER", "marker-in-environment")
	for source, want := range map[string]string{
		"def f: f; f":           "took longer",
		"[repeat(1)]":           "",
		"repeat(1)":             "more than 10000 results",
		`"x" * 100000000`:       "",
		"[range(1e9)] | length": "",
		`[range(100000) | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" * 100]`: "",
	} {
		q, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		_, err = q.All(t.Context(), nil, &Vars{})
		switch {
		case err == nil:
			t.Errorf("%s is not bounded", source)
		case strings.Contains(err.Error(), want), strings.Contains(err.Error(), "took longer"): // a busy machine may reach the time first
		default:
			t.Errorf("%s: %v", source, err)
		}
	}
	for _, source := range []string{"env", "$ENV", "env.SECRET_MARKER", "input", "[inputs]", "debug", "input_filename", "get_search_list", "$__loc__"} {
		q, err := Compile(source)
		if err != nil {
			continue
		}
		all, _ := q.All(t.Context(), nil, &Vars{})
		if raw, _ := Encode(all); strings.Contains(string(raw), "marker-in") {
			t.Errorf("%s reads the environment: %s", source, raw)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"a {{ .b }} c", `{{ "x\("y")" }}`, "{{ {a:{b:1}} }}", "{{", "}}", "{{ # }}", `{{ .a | test("x+") }}`} {
		f.Add(s, `{"a":"b","b":[1,{"c":null}]}`)
	}
	f.Fuzz(func(t *testing.T, source, input string) {
		tmpl, err := CompileTemplate(source)
		if err != nil {
			return
		}
		v, err := Decode([]byte(input))
		if err != nil {
			return
		}
		_, _ = tmpl.Value(t.Context(), v, &Vars{Args: v})
		_, _ = tmpl.Text(t.Context(), v, &Vars{Args: v})
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,1e3,12345678901234567890,"x",null,true]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err != nil {
			return
		}
		raw, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	})
}
