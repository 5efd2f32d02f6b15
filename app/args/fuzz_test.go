package args

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Words become a JSON object or an error, whatever the schema is; and a word that
// was quoted is split off as it was.
func FuzzParse(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string"}},"o":{"type":"object","properties":{"x":{"type":"boolean"}}}}}`, "a=1 b=x b=y o.x=true")
	f.Add(``, `a:={"b":[1]} 'c d=e' "f=\"g"`)
	f.Add(`{"$ref":"#"}`, `a.b.c=1 a.b=2`)
	f.Fuzz(func(t *testing.T, schema, line string) {
		words, err := Split(line)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, Quote(w))
		}
		if again, err := Split(strings.Join(quoted, " ")); err != nil || !slices.Equal(words, again) {
			t.Fatalf("%q is quoted as %q and split as %q, %v", words, quoted, again, err)
		}
		words = slices.DeleteFunc(words, func(w string) bool { return strings.Contains(w, "=@") }) // reads files
		object, err := Parse(json.RawMessage(schema), words)
		if err != nil {
			return
		}
		if !json.Valid(object) || object[0] != '{' {
			t.Fatalf("%q became %s", words, object)
		}
	})
}
