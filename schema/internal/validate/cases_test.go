package validate

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed testdata/cases.txt
var cases string

// What the oracle cannot do: it hands patterns to Go as they are.
func onlyOurs(schema string) bool { return strings.Contains(schema, `"pattern"`) }

func TestCases(t *testing.T) {
	dialect, text := "https://json-schema.org/draft/2020-12/schema", ""
	var ours *Schema
	var theirs *jsonschema.Schema
	count := 0
	for n, line := range strings.Split(cases, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == 'h':
			dialect = line
		case line[0] == '{':
			text = strings.Replace(line, "{", `{"$schema":"`+dialect+`",`, 1)
			var err error
			if ours, err = Compile([]byte(text), defaults()); err != nil {
				t.Fatalf("line %d: %s: %v", n+1, text, err)
			}
			if theirs, err = oracle([]byte(text)); err != nil && !onlyOurs(text) {
				t.Fatalf("line %d: %s: the oracle says %v", n+1, text, err)
			}
		default:
			count++
			fits := line[0] == '+'
			if problems, _ := ours.Check([]byte(line[2:])); (problems == nil) != fits {
				t.Errorf("line %d: %s\n%s: %v", n+1, text, line, problems)
			}
			tree, err := jsonschema.UnmarshalJSON(strings.NewReader(line[2:]))
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			if !onlyOurs(text) && (theirs.Validate(tree) == nil) != fits {
				t.Errorf("line %d: %s\n%s: the oracle disagrees: %v", n+1, text, line, theirs.Validate(tree))
			}
		}
	}
	if count < 300 {
		t.Errorf("only %d cases were read", count)
	}
}
