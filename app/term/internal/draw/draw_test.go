package draw

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

func asIs(l string) string { return l }

// bare returns a Terminal without its goroutine: the test draws.
func bare(out io.Writer, scroll bool) *Terminal {
	t := &Terminal{out: out, scroll: scroll, style: asIs, sent: map[uint32]bool{}, wake: make(chan struct{}, 1)}
	io.WriteString(t.Writer(), altScreen)
	return t
}

// pieces are what lines of frames are made of: with styles, wide characters, and
// characters of several runes.
var pieces = []string{"", "a", "word ", "\x1b[1mbold\x1b[m", "\x1b[38;2;1;2;3mcolored and open ", "\x1b[48;5;4mback ", "漢字", "👩‍👩‍👧", "e\u0301", "🇫🇷", "──────", "⠋ ", "x\u200b", "한글", strings.Repeat("long ", 30)}

// A scene makes frames from numbers, as a fuzzer or a random source has them.
type scene struct {
	next func(int) int
	f    Frame
}

func (s *scene) line() string {
	var b strings.Builder
	for range s.next(5) {
		b.WriteString(pieces[s.next(len(pieces))])
	}
	if s.next(6) == 0 { // exactly as wide as the terminal
		b.WriteString(strings.Repeat("=", s.f.Width))
	}
	return ansi.Truncate(b.String(), s.f.Width, "")
}

// step changes the frame as a chat does, and more wildly.
func (s *scene) step() {
	f := &s.f
	f.Lines = append([]string(nil), f.Lines...)
	switch n := len(f.Lines); s.next(9) {
	case 0: // everything
		f.Lines = nil
		for range s.next(f.Height + 1) {
			f.Lines = append(f.Lines, s.line())
		}
	case 1, 2: // some lines move up, and new ones come below
		from, to, by := s.next(n+1), s.next(n+1), 1+s.next(4)
		if from+by < to {
			copy(f.Lines[from:to], f.Lines[from+by:to])
			for y := to - by; y < to; y++ {
				f.Lines[y] = s.line()
			}
		}
	case 3: // and down
		from, to, by := s.next(n+1), s.next(n+1), 1+s.next(4)
		if from+by < to {
			copy(f.Lines[from+by:to], f.Lines[from:to-by])
		}
	case 4, 5:
		if n > 0 {
			f.Lines[s.next(n)] = s.line()
		}
	case 6:
		f.X, f.Y = s.next(f.Width+1)-1, s.next(f.Height)
	case 7:
		if n > 0 {
			f.Lines[n-1] += "!"
			f.Lines[n-1] = ansi.Truncate(f.Lines[n-1], f.Width, "")
		}
	}
}

// play shows frames on an emulator, which must show each of them exactly.
func play(t *testing.T, next func(int) int, steps int) {
	e := newEmulator(2+next(40), 1+next(30))
	term := bare(e, next(4) != 0)
	term.synced = next(2) == 0
	s := &scene{next: next, f: Frame{Width: e.width, Height: e.height, X: -1}}
	drawn := 0 // frames since the screen was cleared
	for i := range steps {
		switch next(20) {
		case 0: // another size
			e.resize(2+next(40), 1+next(30))
			term.Resized()
			s.f.Width, s.f.Height = e.width, e.height
			s.f.Lines = s.f.Lines[:min(len(s.f.Lines), e.height)]
			for y, l := range s.f.Lines {
				s.f.Lines[y] = ansi.Truncate(l, e.width, "")
			}
			s.f.X, s.f.Y = min(s.f.X, e.width-1), min(s.f.Y, e.height-1)
		case 1: // what bubbletea writes
			fmt.Fprint(term.Writer(), "\x1b[?25l\x1b[H\x1b[2J")
			e.cleared--
		case 2: // the user leaves for a moment
			fmt.Fprint(term.Writer(), mainScreen)
			e.resize(e.width, e.height)
			term.Show(s.f)
			term.draw()
			if e.cells[0][0].text != "#" {
				t.Fatal("it draws on the main screen")
			}
			fmt.Fprint(term.Writer(), altScreen)
		}
		s.step()
		term.Show(s.f)
		if next(4) == 0 {
			continue // no time for this frame
		}
		term.draw()
		drawn++
		if diff := e.shows(s.f); diff != "" {
			t.Fatalf("after frame %d of a terminal of %d columns and %d lines: %s", i, e.width, e.height, diff)
		}
	}
	if e.cleared != 0 {
		t.Errorf("the screen was cleared %d times in %d frames", e.cleared, drawn)
	}
}

// After any sequence of frames, sizes and pauses, the terminal shows exactly the last
// frame, with its cursor, and was never cleared.
func TestTheTerminalShowsTheLastFrame(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 20))
		play(t, r.IntN, 60)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzTheTerminalShowsTheLastFrame(f *testing.F) {
	f.Add([]byte("a sequence of frames"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		i := 0
		next := func(n int) int {
			if i >= len(choices) {
				return 0
			}
			i++
			return int(choices[i-1]) % n
		}
		play(t, next, min(len(choices), 200))
	})
}

// A line that is wider than the terminal is cut there, and does not reach the next.
func TestWideLinesAreCut(t *testing.T) {
	e := newEmulator(10, 3)
	term := bare(e, true)
	term.Show(Frame{Lines: []string{strings.Repeat("x", 25), "second", "third"}, Width: 10, Height: 3, X: -1})
	term.draw()
	if diff := e.shows(Frame{Lines: []string{"xxxxxxxxxx", "second", "third"}, X: -1}); diff != "" {
		t.Error(diff)
	}
}

// A record is what was written, write by write.
type record struct{ writes []string }

func (r *record) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

// A frame is one write, between the sequences that make the terminal show it at
// once. A frame that is shown already is none.
func TestOneWriteForAFrame(t *testing.T) {
	r := &record{}
	term := bare(r, true)
	term.synced = true
	f := Frame{Lines: []string{"one", "two", "three"}, Width: 20, Height: 3, X: 1, Y: 1}
	term.Show(f)
	term.draw()
	f.Lines = []string{"one", "2", "three"}
	term.Show(f)
	term.draw()
	term.draw()
	term.Show(f)
	term.draw()
	if len(r.writes) != 3 {
		t.Fatalf("%q", r.writes)
	}
	if want := "\x1b[?2026h\x1b[?7l\x1b[2H2\x1b[K\x1b[?7h\x1b[2;2H\x1b[?2026l"; r.writes[2] != want {
		t.Errorf("%q, not %q", r.writes[2], want)
	}
	f.X = 2
	term.Show(f)
	term.draw()
	if want := "\x1b[2;3H"; r.writes[3] != want {
		t.Errorf("the cursor moves with %q, not %q", r.writes[3], want)
	}
}

// A conversation that grows at its end moves the lines that are on the screen, and
// writes only the new ones.
func TestScrollingWritesOnlyNewLines(t *testing.T) {
	r := &record{}
	term := bare(r, true)
	var talk []string
	show := func() int {
		lines := append([]string{}, talk[len(talk)-35:]...)
		lines = append(lines, fmt.Sprint("⠋ writing ", len(talk)), "> ", "status")
		term.Show(Frame{Lines: lines, Width: 100, Height: 38, X: 2, Y: 36})
		term.draw()
		return len(r.writes[len(r.writes)-1])
	}
	for i := range 40 {
		talk = append(talk, fmt.Sprintf("%d %s", i, strings.Repeat("talk ", 15)))
	}
	all := show()
	talk = append(talk, "one more line")
	if n := show(); n > all/10 {
		t.Errorf("%d bytes for one line, %d for the whole screen: %q", n, all, r.writes[len(r.writes)-1])
	}
}

// The first frames after a pause are drawn at once, the others at most Rate times in
// a second.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	drawn := 0
	for end := now.Add(time.Second); now.Before(end); now = now.Add(100 * time.Microsecond) { // a stream
		if p.wait(now) <= 0 {
			p.drew(now)
			drawn++
		}
	}
	if drawn > Rate+Burst || drawn < Rate-10 {
		t.Errorf("%d frames in a second", drawn)
	}
	now = now.Add(Burst * spacing)
	for i := range Burst {
		if w := p.wait(now); w > 0 {
			t.Errorf("frame %d after a pause waits %v", i, w)
		}
		p.drew(now)
	}
	if w := p.wait(now); w <= 0 || w > spacing {
		t.Errorf("the next one waits %v", w)
	}
}

// Show draws in the background, and Close ends that.
func TestShowDraws(t *testing.T) {
	in, out := io.Pipe()
	term := New(out, true)
	go io.WriteString(term.Writer(), altScreen)
	buf := make([]byte, 4096)
	if _, err := in.Read(buf); err != nil {
		t.Fatal(err)
	}
	term.Show(Frame{Lines: []string{"early"}, Width: 10, Height: 1, X: -1}) // its colors are not known
	term.Style(strings.ToUpper)
	n, err := in.Read(buf)
	if err != nil || !strings.Contains(string(buf[:n]), "EARLY") {
		t.Errorf("%q %v", buf[:n], err)
	}
	in.CloseWithError(errors.New("the terminal is gone"))
	term.Show(Frame{Lines: []string{"late"}, Width: 10, Height: 1, X: -1})
	term.Close()
}

// What drawing panics with reaches the caller of Show, who restores the terminal.
func TestPanicsReachTheCaller(t *testing.T) {
	term := bare(io.Discard, true)
	term.style = func(string) string { panic("no such color") }
	f := Frame{Lines: []string{"x"}, Width: 10, Height: 1, X: -1}
	term.Show(f)
	term.draw()
	defer func() {
		if recover() != "no such color" {
			t.Error("the panic is lost")
		}
	}()
	term.Show(f)
}
