package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenon-mcp/tenon/app/args"
)

func TestEditor(t *testing.T) {
	tests := []struct {
		name, text string
		keys       []string
		want       string // with | for the cursor
	}{
		{"types", "", []string{"a", "b"}, "ab|"},
		{"inserts in the middle", "ad", []string{"left", "b", "c"}, "abc|d"},
		{"moves by characters that people see", "ae\u0301👩‍👩‍👧‍👦", []string{"left", "left", "x"}, "ax|e\u0301👩‍👩‍👧‍👦"},
		{"removes a character of many runes", "a👩‍👩‍👧‍👦", []string{"backspace"}, "a|"},
		{"joins lines", "a\nb", []string{"left", "backspace"}, "a|b"},
		{"new line", "ab", []string{"left", "alt+enter"}, "a\n|b"},
		{"removes a word", "one two  ", []string{"ctrl+w"}, "one |"},
		{"removes to the start of the line", "one\ntwo", []string{"ctrl+u"}, "one\n|"},
		{"removes to the end of the line", "one\ntwo", []string{"up", "home", "ctrl+k"}, "|\ntwo"},
		{"up keeps the column, also among wide characters", "日本語\nabcd", []string{"up"}, "日本|語\nabcd"},
		{"words", "one two three", []string{"alt+b", "alt+b", "alt+d"}, "one | three"},
		{"nothing before the beginning", "", []string{"left", "backspace", "up", "delete", "right", "down"}, "|"},
	}
	for _, tt := range tests {
		var e editor
		e.set(tt.text)
		for _, k := range tt.keys {
			text := ""
			if len(k) == 1 {
				text = k
			}
			e.key(k, text)
		}
		if got := e.text[:e.at] + "|" + e.text[e.at:]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestEditorRows(t *testing.T) {
	tests := []struct {
		text        string
		at          int
		width, most int
		rows        string
		x, y        int
	}{
		{"", 0, 10, 5, "", 0, 0},
		{"abc", 3, 10, 5, "abc", 3, 0},
		{"abcdef", 6, 3, 5, "abc|def|", 0, 2},
		{"abcdef", 3, 3, 5, "abc|def", 0, 1},
		{"a\nb", 2, 10, 5, "a|b", 0, 1},
		{"日本語", 3, 5, 5, "日本|語", 2, 0},
		{"日本語", 6, 5, 5, "日本|語", 0, 1},
		{"1\n2\n3\n4\n5", 9, 10, 2, "4|5", 1, 1},
		{"1\n2\n3\n4\n5", 0, 10, 2, "1|2", 0, 0},
	}
	for _, tt := range tests {
		e := editor{text: tt.text, at: tt.at}
		rows, x, y := e.rows(tt.width, tt.most)
		if got := strings.Join(rows, "|"); got != tt.rows || x != tt.x || y != tt.y {
			t.Errorf("%q at %d in %d: %q %d,%d want %q %d,%d", tt.text, tt.at, tt.width, got, x, y, tt.rows, tt.x, tt.y)
		}
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("a日\n本", []byte{0, 1, 2, 3, 4, 5})
	keys := []string{"left", "right", "up", "down", "home", "end", "backspace", "delete", "ctrl+w", "ctrl+u", "ctrl+k", "alt+b", "alt+f", "alt+d", "alt+enter", "x"}
	f.Fuzz(func(t *testing.T, text string, strokes []byte) {
		if len(text) > 200 || len(strokes) > 100 {
			return // each stroke draws all rows
		}
		var e editor
		e.insert(text)
		for _, k := range strokes {
			name := keys[int(k)%len(keys)]
			typed := ""
			if name == "x" {
				typed = "é"
			}
			e.key(name, typed)
			if e.at < 0 || e.at > len(e.text) {
				t.Fatalf("%s: the cursor is at %d of %d", name, e.at, len(e.text))
			}
			rows, x, y := e.rows(7, 3)
			if len(rows) > 3 || y >= len(rows) || x > 7 {
				t.Fatalf("%q: cursor %d,%d in %d rows", e.text, x, y, len(rows))
			}
		}
	})
}

// Each line stands by itself: whatever part of them is shown, no style leaks.
func TestStylesAreCarried(t *testing.T) {
	got := lay("\x1b[1mone\ntwo\x1b[0m\nthree", 20)
	want := []string{"\x1b[1mone\x1b[0m", "\x1b[1mtwo\x1b[0m", "three"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q", got)
	}
}

func TestNoLineIsTooWide(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 300), strings.Repeat("日", 300), strings.Repeat("ab ", 100), "a\tb\tc " + strings.Repeat("\t", 50)} {
		for width := 2; width < 50; width += 7 {
			for _, l := range append(wrap(text, width), lay(text, width)...) {
				if ansi.StringWidth(l) > width || strings.Contains(l, "\t") {
					t.Errorf("%q in %d", l, width)
				}
			}
		}
	}
}

const sample = "# Title\n\nA *word* and `code`.\n\n- one\n- two\n\n```go\nfunc x() {\n\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end"

// Text in pieces comes to the same as text at once, wherever it is cut.
func TestStreamedIsTheSameAsAtOnce(t *testing.T) {
	th := newTheme("dark", true)
	whole := &streamed{}
	whole.add(sample)
	want := strings.Join(whole.lines(40, &th), "\n")
	for n := 1; n < 12; n++ {
		b := &streamed{}
		for rest := sample; rest != ""; {
			piece := rest[:min(n, len(rest))]
			rest = rest[len(piece):]
			b.add(piece)
			b.lines(40, &th)
		}
		if got := strings.Join(b.lines(40, &th), "\n"); got != want {
			t.Errorf("in pieces of %d:\n%s\nat once:\n%s", n, got, want)
		}
		if got := strings.Join(b.lines(30, &th), "\n"); strings.Count(got, "Title") != 1 {
			t.Errorf("another width gives\n%s", got)
		}
	}
}

func TestSettles(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"one":                    "",
		"one\n\ntwo":             "one\n\n",
		"one\n- two\n- thr":      "one\n- two\n",
		"one\n\n```\n| x |\n\ny": "one\n\n```\n| x |\n\n",
		"a\n| x |\n|---|\n| 1":   "a\n",
		"| x |\n|---|\n\nb":      "| x |\n|---|\n\n",
	} {
		if got := text[:settles(text, "")]; got != want {
			t.Errorf("%q settles %q, want %q", text, got, want)
		}
	}
}

func TestQuotedIsReadBack(t *testing.T) {
	for _, s := range []string{"", "a", "a b", `"`, `it's "so"`, "'", " ", `a"'b`, `C:\dir\new file`} {
		line := promptLine("s", "p", map[string]string{"x": s})
		_, words, _ := strings.Cut(line, " ")
		if got, _ := args.Split(words); len(got) != 1 || got[0] != "x="+s {
			t.Errorf("%q is written %s and read %q", s, words, got)
		}
	}
}
