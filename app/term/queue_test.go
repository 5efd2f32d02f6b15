package term

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A paced model answers when the test lets it, with one text after the other, and
// keeps what it was asked. A text that ends with "…" is not ended: the model then
// waits until the request is cancelled.
type paced struct {
	mu    sync.Mutex
	asked []*llm.Request
	say   chan string
}

func newPaced() *paced { return &paced{say: make(chan string)} }

func (m *paced) Info() llm.Info { return llm.Info{Provider: "paced", Name: "test"} }

func (m *paced) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// said returns the messages of the last request.
func (m *paced) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, msg := range m.asked[len(m.asked)-1].Messages {
		all = append(all, string(msg.Role)+": "+msg.Text())
	}
	return strings.Join(all, "\n")
}

func (m *paced) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m.mu.Lock()
		m.asked = append(m.asked, r)
		m.mu.Unlock()
		var text string
		select {
		case text = <-m.say:
		case <-ctx.Done():
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrCanceled, Err: ctx.Err()})
			return
		}
		answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(text)}}
		stop := llm.StopEnd
		if name, ok := strings.CutPrefix(text, "call "); ok {
			answer.Parts = []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: fmt.Sprint("c", m.requests()), Name: name, Arguments: llm.RawMessage("{}")}}}
			stop = llm.StopToolCalls
		} else if !yield(llm.Event{Kind: llm.EventText, Text: text}, nil) {
			return
		}
		if strings.HasSuffix(text, "…") {
			<-ctx.Done()
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrCanceled, Err: ctx.Err()})
			return
		}
		yield(llm.Event{Kind: llm.EventDone, Message: &answer, Stop: stop}, nil)
	}
}

// begin sends a message and waits for the request.
func (d *driver) begin(m *paced, text string) {
	d.t.Helper()
	n := m.requests()
	d.types(text)
	d.press("enter")
	d.until("the model is asked", func() bool { return m.requests() > n })
}

// A message that is sent while a turn runs waits above the input, can be taken back
// and changed, and is sent when the turn has ended.
func TestTypeWhileItWorks(t *testing.T) {
	m := newPaced()
	d := drive(t, m, nil, nil)
	d.begin(m, "first")
	d.types("make it blue")
	d.press("enter")
	d.types("make it red")
	d.press("enter")
	d.shows("2 queued")
	d.both("queued")
	d.press("up")
	if d.s.input.text != "make it red" || len(d.s.queue) != 1 {
		t.Fatalf("the line is %q, waiting %+v", d.s.input.text, d.s.queue)
	}
	d.types("dish")
	d.press("enter")
	d.types("removed")
	d.press("enter", "up", "ctrl+u")
	d.types("half a th")
	m.say <- "One."
	d.until("the next turn", func() bool { return m.requests() == 2 })
	if got := m.said(); !strings.HasSuffix(got, "assistant: One.\nuser: make it blue\nuser: make it reddish") {
		t.Errorf("the model got\n%s", got)
	}
	if d.s.input.text != "half a th" {
		t.Errorf("the line is %q", d.s.input.text)
	}
	m.say <- "Two."
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	if v := d.view(); strings.Contains(v, "queued") {
		t.Errorf("still queued:\n%s", v)
	}
}

// A command that starts a turn is queued likewise, and a message during a command
// is sent when that has ended.
func TestMessageDuringACommandWaits(t *testing.T) {
	m := newPaced()
	began, cancelled := make(chan struct{}), make(chan struct{})
	d := drive(t, m, map[string]*server.Server{"slow": slow(began, cancelled)}, nil)
	d.types("/call slow/wait")
	d.press("enter")
	d.answer("Allow once")
	<-began
	d.types("hello")
	d.press("enter")
	d.shows("1 queued")
	d.press("esc") // stops the command
	<-cancelled
	d.until("the model is asked", func() bool { return m.requests() == 1 })
	m.say <- "Hi."
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	if got := m.said(); !strings.Contains(got, "Whether it has done something is not known") || !strings.HasSuffix(got, "user: hello") {
		t.Errorf("the model got\n%s", got)
	}
}

// Esc stops an answer and keeps what came of it; the line stays. Without a running
// step, Esc twice clears the line, and Up brings it back.
func TestEscStopsAStep(t *testing.T) {
	m := newPaced()
	d := drive(t, m, nil, nil)
	d.begin(m, "tell me")
	m.say <- "Half of…"
	d.shows("Half of…")
	d.types("not so long")
	d.press("esc")
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	d.shows("Stopped")
	d.both("stopped")
	if d.s.input.text != "not so long" {
		t.Errorf("the line is %q", d.s.input.text)
	}
	d.press("esc")
	d.shows("Esc again clears the line")
	d.types("!")
	d.press("esc")
	if d.s.input.text != "not so long!" {
		t.Errorf("one Esc makes the line %q", d.s.input.text)
	}
	d.press("esc", "up")
	d.begin(m, "")
	if got := m.said(); !strings.HasSuffix(got, "assistant: Half of…\nuser: [The person stopped your answer above before it was complete.]\nnot so long!") {
		t.Errorf("the model got\n%s", got)
	}
	// With a message that waits, the turn goes on with it.
	d.types("quick")
	d.press("enter", "esc")
	d.until("the model has it", func() bool { return m.requests() == 3 })
	m.say <- "Done."
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	d.shows("Done.")
}

// After Ctrl-C or an error the messages that wait are not sent: Enter on the empty
// line sends them. A question that pops up takes neither the typed keys nor the
// messages.
func TestQueueIsHeldAfterAStop(t *testing.T) {
	m := newPaced()
	d := drive(t, m, nil, nil)
	d.begin(m, "first")
	d.types("later")
	d.press("enter", "ctrl+c")
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	d.shows("enter on the empty line sends")
	if n := m.requests(); n != 1 {
		t.Fatalf("%d requests", n)
	}
	d.begin(m, "") // Enter alone
	m.say <- "call calc__add"
	d.asked()
	d.types("no, once")
	d.press("enter")
	if len(d.w.Host.Asks()) != 1 || len(d.s.queue) != 1 {
		t.Fatalf("%d questions, waiting %+v", len(d.w.Host.Asks()), d.s.queue)
	}
	d.shows("1 queued")
	d.both("queued-question")
	d.answer("Deny")
	d.until("the model is asked again", func() bool { return m.requests() == 3 })
	m.say <- "Fine."
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	if got := m.said(); !strings.HasSuffix(got, "user: no, once") || !strings.Contains(got, "user: later") {
		t.Errorf("the model got\n%s", got)
	}
}

// /undo lists what its turn changed, and /redo brings it back.
func TestUndoAndRedo(t *testing.T) {
	m := newPaced()
	s := server.New(mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(s, "write", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "written", nil }, nil)
	d := drive(t, m, map[string]*server.Server{"files": s}, nil)
	d.begin(m, "write it")
	m.say <- "call files__write"
	d.answer("Allow once")
	m.say <- "It is written."
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	run := func(command string) {
		t.Helper()
		d.types(command)
		d.press("enter")
		d.until(command+" is over", func() bool { return d.s.turns == 0 })
	}
	run("/undo")
	d.shows("What these calls did stays as it is:")
	d.shows("files/write")
	if v := d.view(); strings.Contains(v, "It is written.") {
		t.Errorf("it is still there:\n%s", v)
	}
	run("/redo")
	d.shows("It is written.")
	d.shows("Its calls were not made again.")
	run("/redo")
	d.shows("nothing to redo")
}
