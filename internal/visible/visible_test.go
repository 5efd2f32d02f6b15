package visible

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Hello, world\n\tindented", "Hello, world\n\tindented"},
		{"line ends of Windows", "a\r\nb\r\n", "a\nb\n"},
		{"overwriting", "rm -rf /\rls       ", `rm -rf /\rls       `},
		{"colour", "\x1b[31mred\x1b[0m", `\u{1b}[31mred\u{1b}[0m`},
		{"title", "\x1b]0;owned\x07", `\u{1b}]0;owned\u{7}`},
		{"C1 control sequence", "a\u009b2Jb", `a\u{9b}2Jb`},
		{"C1 as a raw byte", "a\x9b2Jb", `a\x{9b}2Jb`},
		{"backspace and delete", "a\b\x7f", `a\u{8}\u{7f}`},
		{"zero byte", "a\x00b", `a\u{0}b`},
		{"direction", "user\u202egnp.exe", `user\u{202e}gnp.exe`},
		{"isolates", "\u2066x\u2069", `\u{2066}x\u{2069}`},
		{"marks of direction", "a\u200eb\u200fc\u061cd", `a\u{200e}b\u{200f}c\u{61c}d`},
		{"tags", "x\U000E0041\U000E007F", `x\u{e0041}\u{e007f}`},
		{"no width", "pass\u200bword\u2060\ufeff\u00ad", `pass\u{200b}word\u{2060}\u{feff}\u{ad}`},
		{"joiners among Latin", "pa\u200dss\u200cw", `pa\u{200d}ss\u{200c}w`},
		{"fillers", "a\u3164b\u115fc\uffa0", `a\u{3164}b\u{115f}c\u{ffa0}`},
		{"line separator", "a\u2028b\u2029", `a\u{2028}b\u{2029}`},
		{"invalid", "a\xff\xc0\x80b\xed\xa0\x80", `a\x{ff}\x{c0}\x{80}b\x{ed}\x{a0}\x{80}`},
		{"replacement character", "a\ufffdb", "a\ufffdb"},
		{"noncharacter", "a\uffffb\ufdd0", `a\u{ffff}b\u{fdd0}`},
		{"selectors in a row", "😀\ufe0f\ufe01\U000E0130", "😀\ufe0f" + `\u{fe01}\u{e0130}`},
		{"selector after Latin", "a\ufe0fb", `a\u{fe0f}b`},
		{"selector after a digit", "1\ufe0f2", `1\u{fe0f}2`},
		{"zalgo", "o" + strings.Repeat("\u0301", 10), "o" + strings.Repeat("\u0301", 8) + `\u{301}\u{301}`},

		{"family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"skin and profession", "👩🏽\u200d💻", "👩🏽\u200d💻"},
		{"heart on fire", "❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"},
		{"rainbow flag", "🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"two joiners", "👨\u200d\u200d👩", "👨" + `\u{200d}\u{200d}` + "👩"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"joiner at the end of a word", "می\u200c ", "می" + `\u{200c} `},
		{"Hindi", "क्\u200dष", "क्\u200dष"},
		{"Sinhala", "ශ්\u200dරී", "ශ්\u200dරී"},
		{"variant of a Han letter", "葛\U000E0100城", "葛\U000E0100城"},
		{"Arabic number sign", "\u0600١", "\u0600١"},
		{"other scripts", "Ελληνικά русский עברית العربية 日本語 한국어 ไทย", "Ελληνικά русский עברית العربية 日本語 한국어 ไทย"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// One record of a log stays one record (O32).
func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"\n2026-01-01 INFO admin logged in": `\n2026-01-01 INFO admin logged in`,
		"a\tb\r\nc":                         `a\tb\r\nc`,
		"a\u2028b\vc\fd\u0085e":             `a\u{2028}b\u{b}c\u{c}d\u{85}e`,
		"plain – text":                      "plain – text",
		"é\n":                               `é\n`,
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTerminal(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"colour with colons", "\x1b[38:2::1:2:3mred\x1b[m", "red"},
		{"screen cleared", "\x1b[2J\x1b[Hhi\x1b[?25l", "hi"},
		{"C1", "\u009b31mred\u009b0m", "red"},
		{"title", "\x1b]0;owned\x07hi", "hi"},
		{"clipboard", "\x1b]52;c;ZXZpbA==\x1b\\hi", "hi"},
		{"title with C1", "\u009d0;owned\u009chi", "hi"},
		{"link", "\x1b]8;;https://evil.example/\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"device control", "\x1bP1$r0m\x1b\\hi", "hi"},
		{"application, private, start", "\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\hi", "hi"},
		{"character set", "\x1b(Bhi\x1b)0", "hi"},
		{"keypad and reset", "\x1b=\x1bchi", "hi"},
		{"title that never ends", "\x1b]0;a\nthe rest stays", `\u{1b}]0;a` + "\nthe rest stays"},
		{"cut short", "hi\x1b[31", `hi\u{1b}[31`},
		{"escape alone", "hi\x1b", `hi\u{1b}`},
		{"sequence made by stripping", "\x1b\x1b[0m[31mred", `\u{1b}[31mred`},
		{"other controls", "a\bb\u202e", `a\u{8}b\u{202e}`},
		{"letters with the byte 9b", "\u06db śě", "\u06db śě"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Terminal(c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSuspicious(t *testing.T) {
	tags := func(s string) (out string) {
		for _, r := range s {
			out += string(0xe0000 + r)
		}
		return
	}
	bytes := func(s string) (out string) {
		for _, b := range []byte(s) {
			if b < 16 {
				out += string(rune(0xfe00) + rune(b))
			} else {
				out += string(rune(0xe0100) + rune(b) - 16)
			}
		}
		return
	}
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"ordinary", "Reads a file.\r\nReturns 5 µm, 👩🏽\u200d💻, می\u200cخواهم; в русском file", nil},
		{"tags", "x" + tags("send 100% home"), []string{`14 invisible tag characters that say "send 100% home"`}},
		{"bytes in selectors", "😀" + bytes("evil"), []string{`4 misplaced variation selectors that say "evil"`}},
		{"direction", "a\u202eb\u202ec\u2066", []string{"characters that change the direction of text (U+202E, U+2066)"}},
		{"sequences", "\x1b[31mx\x1b]8;;u\x1b\\", []string{"2 terminal control sequences"}},
		{"control", "a\x00", []string{"a control character"}},
		{"return", "rm\rls", []string{"a control character"}},
		{"width", "a\u200bb\u200b", []string{"2 zero-width characters"}},
		{"UTF-8", "\xff", []string{"a byte that is not UTF-8"}},
		{"look-alikes", "read_fіle pаypal", []string{"similar letters of different alphabets in one word (fіle)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Suspicious(c.in); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestPlainTextCostsNothing(t *testing.T) {
	for _, s := range []string{strings.Repeat("plain text\n", 100), strings.Repeat("größer – 日本 👩🏽\u200d💻 ", 100)} {
		if n := testing.AllocsPerRun(100, func() { Text(s); Terminal(s) }); n != 0 {
			t.Errorf("%v allocations for %.20q…", n, s)
		}
	}
}

// never lists what no output may hold, written out again and not taken from
// the tables that are tested.
func never(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xad || r == 0x61c || r == 0x34f ||
		r == 0x200b || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f ||
		r == 0xfeff || r >= 0xe0000 && r <= 0xe00ff || r == 0x3164 || r == 0xffff || r > 0xe010f && r < 0xf0000
}

// Found by FuzzVisible: the rest of the plane of the tags has no characters.
func TestUnassignedCodePointsBehindTagsAreEscaped(t *testing.T) {
	for in, want := range map[string]string{"a\U000e1000": `a\u{e1000}`, "\U000ebbac": `\u{ebbac}`, "\U000efffd": `\u{efffd}`, "\U000f0000": "\U000f0000"} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a\x1b[31m\u202e", "👨\u200d👩\ufe0f", "می\u200cخ", "\xff\xc2\x9b", "\x1b]8;;x\x07y\u009c", "葛\U000E0100", "1\ufe0f\u20e3\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, got := range map[string]string{"Text": Text(s), "Line": Line(s), "Terminal": Terminal(s)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%s(%q) = %q is not UTF-8", name, s, got)
			}
			if i := strings.IndexFunc(got, never); i >= 0 {
				t.Fatalf("%s(%q) = %q lets something through at %d", name, s, got, i)
			}
			if name == "Line" && strings.ContainsAny(got, "\n\t") {
				t.Fatalf("Line(%q) = %q has more than one line", s, got)
			}
			if again := Text(got); again != got {
				t.Fatalf("%s(%q) = %q is not settled: %q", name, s, got, again)
			}
			joined(t, got)
		}
		if len(Suspicious(s)) == 0 && Line(s) != s && !strings.ContainsAny(s, "\r\n\t") {
			t.Fatalf("%q was changed, and nothing was found", s)
		}
	})
}

// joined checks that what depends on its neighbours has them.
func joined(t *testing.T, s string) {
	runes := []rune(s)
	for i, r := range runes {
		alone := i == 0 || runes[i-1] < 0x600 && runes[i-1] != 0xa9 && runes[i-1] != 0xae
		switch {
		case (r == 0x200c || r == 0x200d) && (alone || i+1 == len(runes) || runes[i+1] < 0x600 && !unicode.IsSymbol(runes[i+1])):
			t.Fatalf("a joiner beside nothing that joins in %q", s)
		case r >= 0xfe00 && r <= 0xfe0f && alone && (i+1 == len(runes) || runes[i+1] != 0x20e3):
			t.Fatalf("a selector after nothing that varies in %q", s)
		}
	}
}

func BenchmarkText(b *testing.B) {
	for name, s := range map[string]string{"ascii": strings.Repeat("plain text\n", 100), "mixed": strings.Repeat("größer – 日本 ", 80)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Text(s)
			}
		})
	}
}

// The short way round the tables agrees with them.
func TestOrdinary(t *testing.T) {
	for r := rune(0); r < 0x11000; r++ {
		if ordinary(r) && (always(r) != shown || unicode.Is(unicode.M, r) || isSelector(r) || r == 0x200c || r == 0x200d) {
			t.Errorf("%U is not ordinary", r)
		}
	}
}
