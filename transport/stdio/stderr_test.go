package stdio

import (
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTailKeepsTheEnd(t *testing.T) {
	for _, piece := range []int{1, 7, 1000, maxStderr - 1, maxStderr, maxStderr + 1, 3 * maxStderr} {
		var kept tail
		var all strings.Builder
		for i := 0; all.Len() < 2*maxStderr+5; i++ {
			p := strings.Repeat(string(rune('a'+i%26)), piece)
			all.WriteString(p)
			kept.add([]byte(p))
		}
		want := all.String()[all.Len()-maxStderr:]
		if got := kept.String(); got != want {
			t.Errorf("pieces of %d: the kept %d bytes are not the last ones", piece, len(got))
		}
	}
	var small tail
	small.add([]byte("ab\xff"))
	if got := small.String(); got != "ab\uFFFD" {
		t.Errorf("got %q", got)
	}
}

func TestLinesOfStderr(t *testing.T) {
	x := strings.Repeat("x", maxStderrLine)
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", "a\n\nb\r\n", []string{"a", "", "b"}},
		{"open end", "a\nb", []string{"a", "b"}},
		{"bad UTF-8", "a\xff\xfeb\n", []string{"a\uFFFDb"}},
		{"just fits", x + "\n", []string{x}},
		{"one too many", x + "y\n", []string{x, "y"}},
		{"cut between runes", x[1:] + "ü\n", []string{x[1:], "ü"}},
		{"not text at all", strings.Repeat("\x80", maxStderrLine+10), []string{"\uFFFD", "\uFFFD"}},
		{"much too long", x + x + "\nz", []string{x, x, "z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got, slow []string
			var kept tail
			readStderr(strings.NewReader(tt.in), &kept, func(l string) { got = append(got, l) })
			readStderr(iotest.HalfReader(iotest.DataErrReader(strings.NewReader(tt.in))), &kept, func(l string) { slow = append(slow, l) })
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %.200q\nwant %.200q", got, tt.want)
			}
			if !slices.Equal(slow, tt.want) {
				t.Errorf("in other pieces: got %.200q\nwant %.200q", slow, tt.want)
			}
		})
	}
}

func TestExitErrorShowsLittle(t *testing.T) {
	long := (&ExitError{Program: "p", Code: 1, Stderr: strings.Repeat("line\n", 1000)}).Error()
	if n := strings.Count(long, "line\n"); n > shownLines {
		t.Errorf("%d lines are shown", n)
	}
	wide := (&ExitError{Program: "p", Code: 1, Stderr: strings.Repeat("ü", shownBytes)}).Error()
	if len(wide) > shownBytes+200 || strings.Contains(wide, "\uFFFD") {
		t.Errorf("%d bytes are shown", len(wide))
	}
	if got, want := (&ExitError{Program: "p", Code: 1}).Error(), `server "p" exited with code 1; it wrote nothing to its stderr`; got != want {
		t.Errorf("got %q", got)
	}
}
