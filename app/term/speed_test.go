package term

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// shapes are forms of a long answer, as pieces of it.
var shapes = map[string]func(i int) string{
	"paragraphs": func(i int) string {
		if i%60 == 59 {
			return "end.\n\n"
		}
		return fmt.Sprintf("word%d ", i)
	},
	"one paragraph": func(i int) string { return fmt.Sprintf("word%d ", i) },
	"one code block": func(i int) string {
		if i == 0 {
			return "```go\n"
		}
		return fmt.Sprintf("x := %d // %d\n", i, i)
	},
	"one list": func(i int) string { return fmt.Sprintf("- item **%d**\n", i) },
	"one table": func(i int) string {
		if i == 0 {
			return "| a | b |\n|---|---|\n"
		}
		return fmt.Sprintf("| %d | x |\n", i)
	},
	"thinking": nil,
}

// speedScreen returns a screen without a terminal.
func speedScreen(t testing.TB, width, height int) *screen {
	return speedScreenOf(t, keyword.Model{}, width, height)
}

func speedScreenOf(t testing.TB, m llm.Model, width, height int) *screen {
	feed := NewFeed()
	w, err := workspace.Open(workspace.Options{Dir: t.TempDir(), Model: m, Event: feed.Event, State: feed.State})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	s := newScreen(ctx, w, Options{Feed: feed, Theme: "dark"})
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// deltas feeds pieces i to n of an answer, joined in events of about 20 pieces, as a
// feed does between two pictures, each followed by a picture.
func (s *screen) deltas(shape string, from, to int) {
	const joins = 20
	kind := host.EventText
	piece := shapes[shape]
	if piece == nil {
		kind, piece = host.EventThinking, shapes["one paragraph"]
	}
	for i := from; i < to; i += joins {
		var text strings.Builder
		for j := i; j < min(i+joins, to); j++ {
			text.WriteString(piece(j))
		}
		s.Update(changeMsg{host.Event{Kind: kind, Session: s.t.now().ID, Text: text.String()}})
		s.View()
	}
}

func (s *screen) keystroke() {
	s.Update(tea.KeyPressMsg{Code: 'a', Text: "a"})
	s.View()
}

// A keystroke in the middle of an answer of 50,000 deltas: one more piece, the key
// and a picture.
func BenchmarkKeystrokeInAnAnswer(b *testing.B) {
	for shape := range shapes {
		b.Run(strings.ReplaceAll(shape, " ", "-"), func(b *testing.B) {
			s := speedScreen(b, 120, 40)
			s.deltas(shape, 0, 50_000)
			n := 50_000
			for b.Loop() {
				s.deltas(shape, n, n+1)
				n++
				s.keystroke()
				if len(s.input.text) > 60 {
					s.input.set("")
				}
			}
		})
	}
}

// A keystroke in a session of 10,000 lines.
func BenchmarkKeystrokeInASession(b *testing.B) {
	s := speedScreen(b, 120, 40)
	for i := range 1250 {
		s.add(userMessage{text: fmt.Sprintf("question %d", i)})
		s.deltas("paragraphs", 0, 60)
	}
	s.View()
	for b.Loop() {
		s.keystroke()
		if len(s.input.text) > 60 {
			s.input.set("")
		}
	}
	_, total := s.talked.window(120, 30, 0, nil, &s.theme)
	b.ReportMetric(float64(total), "lines")
}

// All of an answer.
func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{12_500, 50_000} {
		for shape := range shapes {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(shape, " ", "-"), n), func(b *testing.B) {
				for b.Loop() {
					s := speedScreen(b, 120, 40)
					s.deltas(shape, 0, n)
				}
			})
		}
	}
}

// What a keystroke in the middle of an answer costs does not grow with the answer,
// whatever form that has: memory stands for time here, since it does not depend on
// how busy the machine is.
func TestKeystrokesStayCheapInLongAnswers(t *testing.T) {
	cost := func(s *screen, shape string, n int) float64 {
		s.input.set("")
		return testing.AllocsPerRun(20, func() {
			s.deltas(shape, n, n+1)
			n++
			s.keystroke()
		})
	}
	for shape := range shapes {
		s := speedScreen(t, 80, 24)
		s.deltas(shape, 0, 1_000)
		if e := s.talked.last(); shape == "thinking" {
			s.foldEntry(e) // in full
		}
		short := cost(s, shape, 1_000)
		s.deltas(shape, 1_100, 8_000)
		if long := cost(s, shape, 8_000); long > short+4_000 {
			t.Errorf("%s: %.0f allocations after 1,000 deltas, %.0f after 8,000", shape, short, long)
		}
	}
}

// A talker answers everything with the same text.
type talker string

func (talker) Info() llm.Info { return llm.Info{Provider: "test", Name: "talker"} }

func (m talker) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(strings.Clone(string(m)))}}
		if yield(llm.Event{Kind: llm.EventText, Text: answer.Text()}, nil) {
			yield(llm.Event{Kind: llm.EventDone, Message: &answer, Stop: llm.StopEnd}, nil)
		}
	}
}

// A session of 1,000 turns with answers of 8 KiB, with its store and its screen,
// takes less than 100 MB.
func TestLongSessionsStaySmall(t *testing.T) {
	turns := 1000
	if testing.Short() {
		turns = 200
	}
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	before := heap()
	s := speedScreenOf(t, talker(strings.Repeat("An answer of **some** length, in a line.\n", 200)), 120, 40)
	for i := range turns {
		if err := s.t.now().Send(t.Context(), fmt.Sprint("question ", i)); err != nil {
			t.Fatal(err)
		}
		s.Update(changeMsg(s.t.o.Feed.take()))
		s.View()
	}
	used := heap() - before
	t.Logf("%d turns: %.1f MB, %d blocks", turns, used, len(s.talked.all))
	if n := s.t.now().Summary().Turns; n != turns || used > 100 {
		t.Errorf("%d turns take %.1f MB", n, used)
	}
	runtime.KeepAlive(s)
}
