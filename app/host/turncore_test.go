package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// streaming is a model whose answers are events, one list for each request; an
// answer that ends without EventDone ends with the error.
type streaming struct {
	fake
	answers [][]llm.Event
	err     error
	stop    func() // called after the events of an answer, if set
}

func (m *streaming) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m.mu.Lock()
		m.asked = append(m.asked, r)
		events := m.answers[0]
		m.answers = m.answers[1:]
		m.mu.Unlock()
		for _, e := range events {
			if !yield(e, nil) || e.Kind == llm.EventDone {
				return
			}
		}
		if m.stop != nil {
			m.stop()
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrCanceled, Err: ctx.Err()})
			return
		}
		yield(llm.Event{}, m.err)
	}
}

func text(s string) llm.Event { return llm.Event{Kind: llm.EventText, Text: s} }

func used(in int) llm.Event {
	return llm.Event{Kind: llm.EventUsage, Usage: llm.Usage{Input: in, Output: 1, Cost: 0.5}}
}

func done(s string) llm.Event {
	m := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(s)}}
	return llm.Event{Kind: llm.EventDone, Stop: llm.StopEnd, Message: &m, Usage: llm.Usage{Input: 7, Output: 2, Cost: 0.25}}
}

// D4: what a request has used counts also if it fails or the user stops it.
func TestUsageOfFailedRequestsCounts(t *testing.T) {
	for name, stopped := range map[string]bool{"failed": false, "stopped": true} {
		b := newBench(t, nil)
		m := &streaming{answers: [][]llm.Event{{text("Half"), used(100)}}, err: &llm.Error{Kind: llm.ErrQuota}}
		b.host.SetModel(m)
		s := b.host.NewSession()
		if stopped {
			m.stop = s.Stop
		}
		if err := s.Send(t.Context(), "hi"); err == nil {
			t.Fatalf("%s: no error", name)
		}
		if u := s.Summary().Usage; u.Input != 100 || u.Cost != 0.5 {
			t.Errorf("%s: used %+v", name, u)
		}
	}
}

// D10: an answer that was cut off is asked for again. What arrived of it is
// retracted and not in the conversation; after two more attempts the part stays.
func TestCutAnswersAreAskedForAgain(t *testing.T) {
	lost := &llm.Error{Kind: llm.ErrNetwork}
	b := newBench(t, nil)
	m := &streaming{answers: [][]llm.Event{{text("Half"), used(100)}, {text("Ha")}, {text("All of it"), done("All of it")}}, err: lost}
	b.host.SetModel(m)
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	if got := s.Messages(); len(got) != 2 || got[1].Text() != "All of it" {
		t.Errorf("the conversation is %+v", got)
	}
	if u := s.Summary().Usage; u.Input != 107 {
		t.Errorf("used %+v", u)
	}
	r := b.all("retract")
	if len(r) != 2 || !strings.Contains(r[0].Text, "after 4 characters. Asking again (1 of 2)") {
		t.Errorf("retracted %+v", r)
	}
	m.answers = [][]llm.Event{{text("a")}, {text("b")}, {text("c")}, {done("no")}}
	if err := s.Send(t.Context(), "more"); !errors.Is(err, lost) {
		t.Errorf("the fourth attempt: %v", err)
	}
	if got := s.Messages(); got[len(got)-1].Text() != "c" {
		t.Errorf("the conversation ends with %+v", got[len(got)-1])
	}
	// Not if nothing of the answer arrived, which the model has repeated itself,
	// nor for errors that another attempt does not mend.
	m.answers, m.err = [][]llm.Event{{}, {done("no")}}, lost
	if err := s.Send(t.Context(), "x"); !errors.Is(err, lost) {
		t.Errorf("nothing arrived: %v", err)
	}
	m.answers, m.err = [][]llm.Event{{text("a")}, {done("no")}}, &llm.Error{Kind: llm.ErrQuota}
	if err := s.Send(t.Context(), "x"); llm.KindOf(err) != llm.ErrQuota {
		t.Errorf("without credit: %v", err)
	}
}

// What arrived of an answer that was cut off comes back if the model is asked again
// and cannot be reached, or the user stops the wait: on the screen and in the
// conversation.
func TestCutAnswerComesBackIfAskingAgainFails(t *testing.T) {
	lost := &llm.Error{Kind: llm.ErrNetwork}
	for name, stopped := range map[string]bool{"not reached": false, "stopped": true} {
		b := newBench(t, nil)
		m := &streaming{answers: [][]llm.Event{{text("Half")}, {}}, err: lost}
		if stopped {
			m.err = &llm.Error{Kind: llm.ErrOverloaded, RetryAfter: time.Minute}
		}
		b.host.SetModel(m)
		s := b.host.NewSession()
		ended := make(chan error)
		go func() { ended <- s.Send(t.Context(), "hi") }()
		if stopped {
			b.until(EventStep, func(e Event) bool { return e.Step.State == StepRetrying })
			s.Stop()
		}
		if err := <-ended; err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := s.Messages(); len(got) != 2 || got[1].Text() != "Half" || got[1].Stopped != stopped {
			t.Errorf("%s: the conversation is %+v", name, got)
		}
		var shown string
		b.mu.Lock()
		for _, e := range b.events {
			switch e.Kind {
			case EventText:
				shown += e.Text
			case EventRetract:
				shown = ""
			}
		}
		b.mu.Unlock()
		if shown != "Half" {
			t.Errorf("%s: the screen shows %q", name, shown)
		}
	}
}

// limited is a model with a small context that writes down what it summarizes.
type limited struct {
	fake
	max  int // bytes
	seen []string
}

func (m *limited) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		n := 0
		for _, one := range r.Messages {
			n += len(one.Text())
		}
		if n > m.max {
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrContextLength})
			return
		}
		m.asked = append(m.asked, r)
		answer := "fine"
		if strings.HasPrefix(r.System, "Sum up") {
			m.seen = append(m.seen, r.Messages[0].Text())
			answer = fmt.Sprintf("summary %d", len(m.seen))
		}
		yield(done(answer), nil)
	}
}

// D1: a summary keeps the first message word for word, and the model gets the
// whole conversation in pieces that fit, also if the size of its context is not
// known or is stated too large.
func TestSummaryKeepsTheTaskAndAllPieces(t *testing.T) {
	for _, size := range []int{0, 3_000, 200_000} {
		b := newBench(t, nil)
		m := &limited{max: 9_000}
		m.info.Context = size
		b.host.SetModel(m)
		s := b.host.NewSession()
		const task = "Rename every invoice of 2024 by its number."
		if err := s.Send(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			if err := s.Send(t.Context(), fmt.Sprintf("fact-%d ", i)+strings.Repeat("word ", 300)); err != nil {
				t.Fatalf("context %d, message %d: %v", size, i, err)
			}
		}
		all := strings.Join(m.seen, "\n")
		for _, want := range []string{task, "fact-0", "fact-1", "fact-2", "fact-3"} {
			if !strings.Contains(all, want) {
				t.Errorf("context %d: %q was not summarized", size, want)
			}
		}
		first := m.asked[len(m.asked)-1].Messages[0]
		if first.Parts[0].Text != task || !strings.Contains(first.Text(), "summary ") {
			t.Errorf("context %d: the conversation begins with %q", size, first.Text())
		}
	}
}

// D15: the model learns why a call has no result.
func TestCancelledCallsHaveTheirCause(t *testing.T) {
	for want, end := range map[string]func(context.CancelCauseFunc, *Session){
		"cancelled by the person":               func(_ context.CancelCauseFunc, s *Session) { s.Stop() },
		"cancelled: the host ended":             func(stop context.CancelCauseFunc, _ *Session) { stop(ErrLeaving) },
		"cancelled: the time limit was reached": func(stop context.CancelCauseFunc, _ *Session) { stop(&LimitError{Stop: "timeout"}) },
	} {
		started := make(chan struct{})
		slow := server.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
		server.AddTool(slow, "wait", "", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
			close(started)
			<-ctx.Done()
			return "", ctx.Err()
		}, nil)
		b := newBench(t, nil, calls("slow__wait", "{}"))
		b.attach("slow", slow)
		s := b.host.NewSession()
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { <-started; end(stop, s) }()
		s.Send(ctx, "wait")
		stop(nil)
		if m := s.Messages(); !strings.Contains(m[len(m)-1].Text(), want) {
			t.Errorf("want %q, the model reads %q", want, m[len(m)-1].Text())
		}
	}
}

// D28: thinking that contains a secret is not saved, since its signature would not
// fit, and neither is a signature that contains one.
func TestThinkingWithSecretsIsNotSaved(t *testing.T) {
	b := newBench(t, nil, func(*llm.Request) (llm.Message, error) {
		return llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			{Kind: llm.PartThinking, Text: "fine", Signature: "a:1"},
			{Kind: llm.PartThinking, Text: "the key is tops3cret!", Signature: "a:2"},
			{Kind: llm.PartThinking, Text: "hm", Signature: `r:{"summary":"tops3cret!"}`},
			llm.Text("I used tops3cret!"),
		}}, nil
	})
	b.attach("calc", calculator(), "tops3cret!")
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	parts := b.store.saved[s.ID].Rows[1].Message.Parts
	if len(parts) != 2 || parts[0].Signature != "a:1" || parts[0].Text != "fine" || strings.Contains(fmt.Sprint(parts), "tops3cret") {
		t.Errorf("saved %+v", parts)
	}
	if n := len(s.Messages()[1].Parts); n != 4 {
		t.Errorf("the conversation in memory has %d parts", n)
	}
}

// D2: a message is not lost because a result is being added at that moment.
func TestSendWaitsForOthersThatAddMessages(t *testing.T) {
	b := newBench(t, nil, says("one"))
	s := b.host.NewSession()
	s.turns.Lock() // as a delivered task does
	sent := make(chan error)
	go func() { sent <- s.Send(t.Context(), "hi") }()
	select {
	case err := <-sent:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	s.turns.Unlock()
	if err := <-sent; err != nil {
		t.Errorf("sent: %v", err)
	}
}

// D2: a message that another process prevents from being sent is reported.
func TestErrorsBeforeATurnAreEvents(t *testing.T) {
	b := newBench(t, nil, says("one"))
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	other := newBench(t, nil)
	other.host.opts.Store = b.store
	same, err := other.host.Session(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = same.Send(t.Context(), "me too")
	if _, ok := errors.AsType[*OpenElsewhereError](err); !ok {
		t.Fatalf("got %v", err)
	}
	if e := other.all(EventError); len(e) != 1 || !strings.Contains(e[0].Text, "open in") {
		t.Errorf("told %+v", e)
	}
}

// D3: undo takes back the turn of the user: not a result that was delivered after
// it, and all messages of a prompt.
func TestUndoTakesBackWholeTurns(t *testing.T) {
	b := newBench(t, nil, says("one"), says("two"), says("three"))
	s := b.host.NewSession()
	for _, said := range []string{"first", "second"} {
		if err := s.Send(t.Context(), said); err != nil {
			t.Fatal(err)
		}
	}
	s.deliver(ToolCall{ID: "c9", Server: "slow", Tool: "wait", Name: "slow__wait", Arguments: []byte("{}"), Task: &TaskState{ID: "t1"}}, llm.TextResult("c9", "the long result"))
	if got, err := undo(s); got != "second" || err != nil {
		t.Errorf("undid %q, %v", got, err)
	}
	var rest []string
	for _, m := range s.Messages() {
		rest = append(rest, string(m.Role)+" "+m.Text())
	}
	if got := strings.Join(rest, "|"); got != "user first|assistant one|user Task t1 of slow/wait has ended.|assistant |tool the long result" {
		t.Errorf("left: %s", got)
	}
	if n := s.Summary().Turns; n != 1 {
		t.Errorf("%d turns", n)
	}
	// The prompt of a server is several messages of one turn.
	p := server.New(mcp.Implementation{Name: "p", Version: "1"}, nil)
	server.AddPrompt(p, "ask", "", func(context.Context, *mcp.Call, struct{}) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("a")}, {Role: mcp.RoleAssistant, Content: mcp.Text("b")}, {Role: mcp.RoleUser, Content: mcp.Text("c")}}}, nil
	}, nil)
	b.attach("p", p)
	if err := s.Send(t.Context(), "/p:ask"); err != nil {
		t.Fatal(err)
	}
	if got, err := undo(s); got != "/p:ask" || err != nil || len(s.Messages()) != 5 {
		t.Errorf("undid %q, %v; %d messages are left", got, err, len(s.Messages()))
	}
}

// What the conversation takes of the context is less after an undo.
func TestUndoFreesTheContext(t *testing.T) {
	b := newBench(t, nil, says("one"), says("two"))
	s := b.host.NewSession()
	for _, text := range []string{"first", "second"} {
		if err := s.Send(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	const before = 100_000
	s.mu.Lock()
	s.context = before // as a provider counted a long second turn
	s.mu.Unlock()
	if _, err := undo(s); err != nil {
		t.Fatal(err)
	}
	if after := s.ContextUsed(); after == 0 || after >= before {
		t.Errorf("%d tokens before, %d after", before, after)
	}
}

// D3: the marks are saved, and a session of an older version gets them.
func TestUndoAfterAResume(t *testing.T) {
	for _, marked := range []bool{true, false} {
		b := newBench(t, nil, says("one"), says("two"))
		s := b.host.NewSession()
		for _, said := range []string{"first", "second"} {
			if err := s.Send(t.Context(), said); err != nil {
				t.Fatal(err)
			}
		}
		b.host.Close()
		if !marked {
			saved := b.store.saved[s.ID]
			saved.Marks = nil
			b.store.saved[s.ID] = saved
		}
		later := newBench(t, nil)
		later.host.opts.Store = b.store
		again, err := later.host.Session(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := undo(again); got != "second" || err != nil || again.Summary().Turns != 1 {
			t.Errorf("marked %v: undid %q, %v, %d turns are left", marked, got, err, again.Summary().Turns)
		}
	}
}

// D12: a message whose attachment cannot be read leaves no empty session with its
// title.
func TestUnsentMessagesLeaveNothing(t *testing.T) {
	b := newBench(t, nil, says("hello"))
	b.attach("calc", calculator())
	s := b.host.NewSession()
	err := s.Send(t.Context(), "look at @calc:x://nothing")
	if _, ok := errors.AsType[*UnsentError](err); !ok {
		t.Fatalf("got %v", err)
	}
	if all, err := b.host.Sessions(); len(all) != 0 || err != nil || s.Summary().Title != "" {
		t.Errorf("left %+v with the title %q, %v", all, s.Summary().Title, err)
	}
	if err := s.Send(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	if saved := b.store.saved[s.ID]; saved.Title != "hi" || len(saved.Rows) != 2 || saved.Turns != 1 {
		t.Errorf("saved %+v", saved)
	}
}
