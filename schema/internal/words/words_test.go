package words

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	rows := []struct{ got, want string }{
		{Items(1), "1 item"},
		{Items(0), "0 items"},
		{Characters(2), "2 characters"},
		{List(nil), ""},
		{List([]string{`"a"`, `1`}), `"a", 1`},
		{List(strings.Fields(strings.Repeat("1 ", 22))), strings.Repeat("1, ", 19) + "1 and 2 more"},
		{Quote("a\n\"b"), `"a\n\"b"`},
		{Quote(strings.Repeat("a", 65)), `"` + strings.Repeat("a", 64) + `"…`},
		{Quote(strings.Repeat("a", 63) + "éé"), `"` + strings.Repeat("a", 63) + `"…`},
		{Clip(strings.Repeat("a", 80)), strings.Repeat("a", 80)},
		{Clip(strings.Repeat("a", 79) + "éé"), strings.Repeat("a", 79) + "…"},
		{OneLine(" a\n\tb "), "a b"},
		{OneLine(strings.Repeat("a", 201)), strings.Repeat("a", 200) + "…"},
		{Path("", ""), ""},
		{Path("a", ""), "a"},
		{Path("", "a"), "a"},
		{Path("a", "b"), "a.b"},
		{Path("a", Index(2)), "a[2]"},
		{Path("a", Member("b c")), `a["b c"]`},
		{Member("größe_-$1"), "größe_-$1"},
		{Member(""), `[""]`},
		{Member("a.b"), `["a.b"]`},
		{string(AppendFloat(nil, 0.1, 64)), "0.1"},
		{string(AppendFloat(nil, float64(float32(0.1)), 32)), "0.1"},
		{string(AppendFloat(nil, 1e20, 64)), "100000000000000000000"},
		{string(AppendFloat(nil, 1e21, 64)), "1e+21"},
		{string(AppendFloat(nil, -1e-7, 64)), "-1e-07"},
		{string(AppendFloat(nil, math.Copysign(0, -1), 64)), "-0"},
	}
	for _, row := range rows {
		if row.got != row.want {
			t.Errorf("%s, want %s", row.got, row.want)
		}
	}
}

func FuzzTextsAreBounded(f *testing.F) {
	f.Add("a")
	f.Add(strings.Repeat("é", 300))
	f.Add("\xff\xfe" + strings.Repeat("\x80", 300))
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Quote(text), Clip(text), OneLine(text), Member(text)} {
			if len(got) > 10*60 || utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q", got)
			}
		}
	})
}
