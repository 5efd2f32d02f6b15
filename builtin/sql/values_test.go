package sql

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

func TestParamsKeepTheirTypes(t *testing.T) {
	for raw, want := range map[string]any{
		`null`: nil, `true`: true, `1`: int64(1), `-9223372036854775808`: int64(math.MinInt64), `9223372036854775808`: engine.Decimal("9223372036854775808"),
		`1.5`: 1.5, `1e3`: 1000.0, `0.1234567890123456789`: engine.Decimal("0.1234567890123456789"), `"1"`: "1", `"\u00e9"`: "é",
		`[1,2]`: "JSON [1,2]", `{"a":1}`: `JSON {"a":1}`, `{"base64":"AP8="}`: "bytes 00ff", `{"base64":"AP8=","x":1}`: `JSON {"base64":"AP8=","x":1}`, `1e400`: "error", `{"base64":"!"}`: "error",
	} {
		got, err := readParam([]byte(raw))
		switch v := got.(type) {
		case engine.JSON:
			got = "JSON " + string(v)
		case engine.Bytes:
			got = fmt.Sprintf("bytes %x", v.Head)
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %v (%T), want %v (%T)", raw, got, got, want, want)
		}
	}
}

func TestCellsAreCut(t *testing.T) {
	long := strings.Repeat("é", 100)
	c := newCell(long, 51)
	if !c.cut || c.text != strings.Repeat("é", 25)+"… (100 characters)" {
		t.Errorf("text: %+v", c)
	}
	if want := `{"text":"` + strings.Repeat("é", 25) + `","size":100,"cut":true}`; string(c.json) != want {
		t.Errorf("json: %s", c.json)
	}
	for _, v := range []any{
		long, engine.Bytes{Head: make([]byte, 5000), Size: 1 << 30}, engine.JSON(`[` + strings.Repeat("1,", 4000) + `1]`), "\xff\xfe", "a\x00b",
		[]any{long, long, []any{long}, nil}, engine.Decimal("1"), math.NaN(), uint64(math.MaxUint64), engine.JSON(`{broken`), struct{}{},
	} {
		c := newCell(v, 64)
		if !json.Valid(c.json) || len(c.json) > 600 {
			t.Errorf("%v: %s", v, c.json)
		}
		if strings.ContainsAny(c.text, "\n\t\x00\x1b") {
			t.Errorf("%v: %q", v, c.text)
		}
	}
}

// What is in a table must not be able to leave its cell, steer a terminal or
// hide from the person.
func TestCellsStayInTheirPlace(t *testing.T) {
	for in, want := range map[string]string{
		"a|b": `a\|b`, "a\nb": `a\nb`, "\x1b[2J": `\u001b[2J`, "\u202eabc": `\u202eabc`, "\U000e0041": `\ue0041`, "\u009b31m": `\u009b31m`, "zero\u200dwidth": "zero\u200dwidth", "": "''", "NULL": "'NULL'",
	} {
		if got := newCell(in, 1000).text; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzCell(f *testing.F) {
	f.Add("x", 10)
	f.Add("\xff|\n", 64)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 1 + (limit&0x7fffffff)%1000
		for _, v := range []any{s, engine.JSON(s), engine.Bytes{Head: []byte(s), Size: int64(len(s))}, []any{s, nil, s}} {
			c := newCell(v, limit)
			if !json.Valid(c.json) {
				t.Errorf("%T %q: %q is not JSON", v, s, c.json)
			}
			if strings.ContainsFunc(strings.ReplaceAll(c.text, `\|`, ""), special) {
				t.Errorf("%T %q: %q", v, s, c.text)
			}
		}
	})
}
