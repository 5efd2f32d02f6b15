package bm25_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

func words(text string) string {
	var all []string
	bm25.Scan(text, func(word []byte, _, _ int) bool {
		all = append(all, string(word))
		return true
	})
	return strings.Join(all, " ")
}

func TestScan(t *testing.T) {
	rows := [][2]string{
		{"", ""},
		{" ,.- \x00\xff ", ""},
		{"Hello, World", "hello world"},
		{"x1 2nd 3", "x1 2nd 3"},
		{"read_note", "read note"},
		{"readNote", "read note readnote"},
		{"parseHTTPRequest2", "parse http request2 parsehttprequest2"},
		{"HTTP", "http"},
		{"GitHub iOS", "git hub github i os ios"},
		{"Über ÜBER u\u0308ber", "uber uber uber"},
		{"Straße cœur Øre Łódź", "strasse coeur ore lodz"},
		{"naïve—café", "naive cafe"},
		{"Ёлка ЙОД ПРИВЕТ", "елка иод привет"},
		{"ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"},
		{"हिन्दी", "हिन्दी"},
		{"مرحبا بالعالم", "مرحبا بالعالم"},
		{"東京都", "東京 京都"},
		{"木", "木"},
		{"Go言語で", "go 言語 語で"},
		{"ภาษา", "ภา าษ ษา"},
		{"ＡＢＣ", "abc"},
		{"l'homme don't", "l homme don t"},
		{strings.Repeat("a", 64), strings.Repeat("a", 64)},
		{strings.Repeat("a", 65) + " b", "b"},
		{strings.Repeat("é", 200) + " b", "b"},
		{"a\xffb", "a b"},
	}
	for _, row := range rows {
		if got := words(row[0]); got != row[1] {
			t.Errorf("%q: %q, want %q", row[0], got, row[1])
		}
	}
	n := 0
	bm25.Scan("a bC d", func([]byte, int, int) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("it went on after false: %d", n)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"Hello, World", "parseHTTPRequest", "東京 a\xff", "u\u0308ber ŉ ﷺ", "ＡbＣ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bm25.Scan(text, func(word []byte, start, end int) bool {
			if len(word) == 0 || len(word) > 64 || !utf8.Valid(word) {
				t.Fatalf("the word is %q", word)
			}
			if start < 0 || start >= end || end > len(text) {
				t.Fatalf("it is at %d:%d of %d", start, end, len(text))
			}
			return true
		})
	})
}
