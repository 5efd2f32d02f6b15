package postgres

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

func TestArrays(t *testing.T) {
	r := &runner{}
	for in, want := range map[string]string{
		`{}`: `[]`, `{1,2}`: `["1","2"]`, `{NULL,"NULL"}`: `[null,"NULL"]`, `{"a\"b","c\\d","e,f","{}"}`: `["a\"b","c\\d","e,f","{}"]`,
		`{{a,b},{c,d}}`: `[["a","b"],["c","d"]]`, `[2:3]={x,y}`: `["x","y"]`,
		``: "no", `{`: "no", `{1`: "no", `{1,}x`: "no", `{"a`: "no", `{1}}`: "no", `{{{{{{{{1}}}}}}}}`: "no",
	} {
		list, ok := r.array(oidText, in)
		got := "no"
		if ok {
			raw, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestArrayLiterals(t *testing.T) {
	for in, want := range map[string]string{
		`[1, 2]`: `{1, 2}`, `["a\"b", null]`: `{"a\"b", null}`, `[]`: `{}`, `[[1],[2]]`: `{{1},{2}}`, `{"a":1}`: `{"a":1}`, `[{"a":1}]`: `[{"a":1}]`, `["\n"]`: `["\n"]`, `["[x]"]`: `{"[x]"}`,
	} {
		if got := string(arrayLiteral(engine.JSON(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for in, want := range map[string]string{
		"2024-05-01 10:00:00": "2024-05-01T10:00:00", "2024-05-01 10:00:00.5+00": "2024-05-01T10:00:00.5Z", "2024-05-01 10:00:00-03": "2024-05-01T10:00:00-03:00",
		"2024-05-01 10:00:00+05:30": "2024-05-01T10:00:00+05:30", "infinity": "infinity", "0044-03-15 00:00:00 BC": "0044-03-15 00:00:00 BC",
	} {
		if got := iso(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Found by FuzzArray: JSON that ends with a backslash.
func TestArrayLiteralOfBrokenJSON(t *testing.T) {
	for _, in := range []string{`["\`, `["a\`, `[["\`} {
		if got := string(arrayLiteral(engine.JSON(in))); got != in {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func FuzzArray(f *testing.F) {
	f.Add(`{1,"a\"",NULL,{x}}`)
	f.Fuzz(func(_ *testing.T, s string) {
		(&runner{}).array(oidText, s)
		arrayLiteral(engine.JSON(s))
	})
}
