package args

import (
	"strings"
	"testing"
)

// H24: one splitter, whose open quotes are errors.
func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		`a b`:                 "a|b",
		`city="New York" n=1`: "city=New York|n=1",
		`'x y' "z\"w"`:        `x y|z"w`,
		`text=it\'s`:          "text=it's",
		`text="it's"`:         "text=it's",
		`path=C:\temp\new`:    `path=C:\temp\new`,
		"one\ntwo":            "one|two",
		`empty=""`:            "empty=",
		`text=it's`:           "!the quote ' is not closed",
		`text="open`:          `!the quote " is not closed`,
		`a\ b`:                "a b",
		`'` + `'` + ` x`:      "|x",
	} {
		words, err := Split(line)
		got := strings.Join(words, "|")
		if err != nil {
			got = "!" + err.Error()
		}
		if got != want && !(err != nil && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
	for _, word := range []string{"", "a", "a b", "it's", `"`, `\`, `C:\x`, "a\nb", `'"\ `} {
		if words, err := Split(Quote(word)); err != nil || len(words) != 1 || words[0] != word {
			t.Errorf("%q is quoted %s and read %q, %v", word, Quote(word), words, err)
		}
	}
}
