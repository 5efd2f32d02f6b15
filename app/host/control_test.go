package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/app/llm/openai"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// slowTool is a server whose tool wait ends when it is cancelled, and reports
// both; its tool write returns at once.
func slowTool() (s *server.Server, started, cancelled chan struct{}) {
	started, cancelled = make(chan struct{}, 8), make(chan struct{}, 8)
	s = server.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
	server.AddTool(s, "wait", "", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	}, nil)
	server.AddTool(s, "write", "", func(_ context.Context, _ *mcp.Call, a struct {
		Path     string `json:"path"`
		Content  string `json:"content,omitzero"`
		Password string `json:"password,omitzero"`
	}) (string, error) {
		if a.Path == "bad" {
			return "", errors.New("no such folder")
		}
		return "written", nil
	}, nil)
	server.AddTool(s, "look", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "seen", nil }, &server.ToolOptions{Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}})
	return s, started, cancelled
}

// within fails the test if nothing arrives.
func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("not in a minute: " + what)
	}
}

// meanwhile allows each call after f has run.
func (b *bench) meanwhile(f func(Ask)) {
	b.answers = func(a Ask) *Reply {
		go func() {
			f(a)
			if err := b.host.Reply(a.ID, Reply{Action: "once"}); err != nil {
				b.t.Error(err)
			}
		}()
		return nil
	}
}

func queue(t *testing.T, s *Session, text string) Queued {
	t.Helper()
	q, err := s.Queue(Input{Typed: text})
	if err != nil {
		t.Error(err)
	}
	return q
}

// wires are models that talk to a strict provider, one for each wire.
func wires(s *llmtest.Server) map[string]llm.Model {
	chat, responses := &openai.Options{BaseURL: s.V1(), Key: llmtest.Key, Client: s.Client()}, &openai.Options{BaseURL: s.V1(), Key: llmtest.Key, Client: s.Client()}
	chat.API, responses.API = openai.Chat, openai.Responses
	return map[string]llm.Model{
		"messages":  anthropic.New("claude-opus-4-6", &anthropic.Options{BaseURL: s.URL, Key: llmtest.Key, Client: s.Client()}),
		"chat":      openai.New("gpt-4.1", chat),
		"responses": openai.New("gpt-5", responses),
	}
}

// Messages that wait are given to the model after the results of the running
// calls, in order, in a form that every provider accepts.
func TestQueuedMessagesFollowTheRunningCalls(t *testing.T) {
	for _, name := range []string{"messages", "chat", "responses"} {
		t.Run(name, func(t *testing.T) {
			two := []llm.ToolCall{{ID: "a1", Name: "slow__write", Arguments: json.RawMessage(`{"path":"a"}`)}, {ID: "a2", Name: "slow__look", Arguments: json.RawMessage(`{}`)}}
			provider := llmtest.New(t, llmtest.Turn{Text: []string{"Working."}, Calls: two}, llmtest.Turn{Text: []string{"Done both."}})
			b := newBench(t, nil)
			b.host.SetModel(wires(provider)[name])
			slow, _, _ := slowTool()
			b.attach("slow", slow)
			s := b.host.NewSession()
			b.meanwhile(func(a Ask) {
				if a.Call.Tool == "write" {
					queue(t, s, "and make it blue")
					queue(t, s, "and quick")
				}
			})
			if err := s.Send(t.Context(), "paint it"); err != nil {
				t.Fatal(err)
			}
			all := provider.Requests()
			if len(all) != 2 {
				t.Fatalf("%d requests", len(all))
			}
			body := string(all[1].Body)
			at := strings.Index(body, "written")
			if i, j := strings.Index(body, "and make it blue"), strings.Index(body, "and quick"); at < 0 || i < at || j < i {
				t.Errorf("the second request has not the results and then the messages: %s", body)
			}
			if got := b.all(EventMessage); len(got) != 2 || got[0].Text != "and make it blue" {
				t.Errorf("told %+v", got)
			}
			if q := s.Queued(); len(q) != 0 {
				t.Errorf("still waiting: %+v", q)
			}
			if q := b.all(EventQueue); len(q) != 4 || len(q[1].Queue) != 2 || q[3].Queue == nil || len(q[3].Queue) != 0 {
				t.Errorf("queue events %+v", q)
			}
			// Undo takes back from the last message on, and redo brings it back.
			if u, err := s.Undo(); err != nil || u.Text != "and quick" || len(u.Calls) != 0 {
				t.Errorf("%+v %v", u, err)
			}
			provider.Requests()
			if err := s.Send(t.Context(), "now?"); err != nil { // after results without an answer
				t.Error(err)
			}
		})
	}
}

// What waits when a turn ends is sent as the next one; what waits when a turn
// fails or is stopped stays, also in the next process.
func TestQueuedMessagesAreNeverLost(t *testing.T) {
	b := newBench(t, nil)
	s := b.host.NewSession()
	b.model.turns = []turnFunc{
		func(r *llm.Request) (llm.Message, error) { queue(t, s, "next"); return says("one")(r) },
		says("two"),
		func(*llm.Request) (llm.Message, error) {
			queue(t, s, "third")
			queue(t, s, "fourth")
			return llm.Message{}, &llm.Error{Kind: llm.ErrQuota}
		},
	}
	if err := s.Send(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	if !s.NextQueued() {
		t.Fatal("nothing waits")
	}
	if r, err := s.SendQueued(t.Context(), nil); err != nil || r.Answer != "two" {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := s.SendQueued(t.Context(), nil); !errors.Is(err, ErrNothingQueued) {
		t.Errorf("nothing waits: %v", err)
	}
	if err := s.Send(t.Context(), "fails"); err == nil {
		t.Fatal("no error")
	}
	saved := b.store.saved[s.ID]
	if len(saved.Queued) != 2 || saved.Queued[0].Typed != "third" {
		t.Fatalf("saved %+v", saved.Queued)
	}
	again := newBench(t, nil, says("both"))
	again.host.opts.Store = b.store
	b.host.Close()
	same, err := again.host.Session(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := same.Unqueue("q-unknown"); !errors.Is(err, ErrNothingQueued) {
		t.Error(err)
	}
	if r, err := same.SendQueued(t.Context(), nil); err != nil || r.Answer != "both" {
		t.Fatalf("%+v %v", r, err)
	}
	var said []string
	for _, m := range again.model.asked[0].Messages {
		if m.Role == llm.RoleUser {
			said = append(said, m.Text())
		}
	}
	if got := strings.Join(said, "|"); got != "first|next|fails|third|fourth" {
		t.Errorf("the model got %s", got)
	}
	if len(again.store.saved[s.ID].Queued)+len(same.Queued()) != 0 {
		t.Error("it waits again")
	}
}

// A message whose attachment cannot be read waits with the reason, and with it
// those after it; the running turn goes on.
func TestQueuedMessageThatCannotBeSentWaits(t *testing.T) {
	b := newBench(t, nil, calls("slow__look", "{}"), says("looked"))
	slow, _, _ := slowTool()
	b.attach("slow", slow)
	s := b.host.NewSession()
	var bad Queued
	b.meanwhile(func(Ask) {
		bad = queue(t, s, "read @slow:no://where please")
		queue(t, s, "later")
	})
	if err := s.Send(t.Context(), "look"); err != nil {
		t.Fatal(err)
	}
	q := s.Queued()
	if len(q) != 2 || q[0].Problem == "" || s.NextQueued() {
		t.Fatalf("waiting: %+v", q)
	}
	if r, err := s.SendQueued(t.Context(), nil); err == nil {
		t.Errorf("sent: %+v", r)
	}
	if q := s.Queued(); len(q) != 2 || q[0].ID != bad.ID || q[0].Problem == "" || len(s.Messages()) != 4 {
		t.Errorf("waiting: %+v", q)
	}
	if got, err := s.Unqueue(bad.ID); err != nil || got.Typed != "read @slow:no://where please" {
		t.Errorf("%+v %v", got, err)
	}
	b.model.turns = []turnFunc{says("fine")}
	if r, err := s.SendQueued(t.Context(), nil); err != nil || r.Answer != "fine" {
		t.Errorf("%+v %v", r, err)
	}
}

// StopStep stops an answer and keeps what came, marked; the model learns of it with
// the next message.
func TestStoppedAnswerIsKept(t *testing.T) {
	for _, name := range []string{"messages", "chat", "responses"} {
		t.Run(name, func(t *testing.T) {
			provider := llmtest.New(t, llmtest.Turn{Text: []string{"Half of ", "it"}, Hang: true}, llmtest.Turn{Text: []string{"Fine."}})
			b := newBench(t, nil)
			b.host.SetModel(wires(provider)[name])
			s := b.host.NewSession()
			if s.StopStep() {
				t.Error("a turn runs")
			}
			var text string
			b.host.opts.Event = func(e Event) {
				b.event(e)
				if e.Kind == EventText {
					if text += e.Text; text == "Half of it" {
						go s.StopStep()
					}
				}
			}
			r, err := s.SendInput(t.Context(), Input{Typed: "tell me"}, nil)
			if err == nil || r.Stop != "cancelled" {
				t.Fatalf("%+v %v", r, err)
			}
			<-provider.Gone() // the request was cancelled
			m := s.Messages()
			if len(m) != 2 || m[1].Text() != "Half of it" || !m[1].Stopped || !b.store.saved[s.ID].Rows[1].Message.Stopped {
				t.Fatalf("kept %+v", m)
			}
			if len(b.all(EventStopped)) != 1 || len(b.all(EventError)) != 0 {
				t.Errorf("told %+v", b.events)
			}
			if err := s.Send(t.Context(), "go on"); err != nil {
				t.Fatal(err)
			}
			body := string(provider.Last())
			if i := strings.Index(body, "Half of it"); i < 0 || !strings.Contains(body[i:], "The person stopped your answer") || !strings.Contains(body[i:], "go on") {
				t.Errorf("the model got %s", body)
			}
		})
	}
}

// StopStep cancels the running call at its server; calls after it are not made.
// The model learns which call may have taken effect, and a message that waits
// follows at once.
func TestStoppedCallsAreCancelled(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(fmt.Sprint(waits), func(t *testing.T) {
			b := newBench(t, nil, calls("slow__write", `{"path":"a"}`, "slow__wait", "{}", "slow__write", `{"path":"b"}`), says("ok"))
			slow, started, cancelled := slowTool()
			b.attach("slow", slow)
			s := b.host.NewSession()
			go func() {
				within(t, "the call", started)
				if waits {
					queue(t, s, "do something else")
				}
				s.StopStep()
			}()
			r, err := s.SendInput(t.Context(), Input{Typed: "wait"}, nil)
			within(t, "the end of the call at the server", cancelled)
			if waits != (err == nil) || r.Calls.Done != 1 || r.Calls.Cancelled != 2 {
				t.Errorf("%+v %v", r, err)
			}
			m := s.Messages()
			results := m[2].Parts
			for i, want := range []string{"written", "The call was cancelled by the person. Whether it has done something is not known", "The call was not made: the person stopped it before."} {
				if got := llm.Results(*results[i].Result).Text(); !strings.Contains(got, want) {
					t.Errorf("result %d is %q, want %q", i, got, want)
				}
			}
			if !waits {
				if r.Stop != "cancelled" || len(m) != 3 {
					t.Errorf("%s %+v", r.Stop, m)
				}
				return
			}
			if r.Answer != "ok" || m[3].Text() != "do something else" {
				t.Errorf("%+v", m)
			}
		})
	}
}

// Esc between two steps is not lost.
func TestStopBetweenStepsStopsTheNextOne(t *testing.T) {
	b := newBench(t, nil, calls("slow__look", "{}"), says("never"))
	slow, _, _ := slowTool()
	b.attach("slow", slow)
	s := b.host.NewSession()
	b.host.opts.Event = func(e Event) {
		b.event(e)
		if e.Kind == EventTurn { // before the first step
			s.StopStep()
		}
	}
	r, err := s.SendInput(t.Context(), Input{Typed: "look"}, nil)
	if _, unsent := errors.AsType[*UnsentError](err); !unsent && r.Stop != "cancelled" {
		t.Errorf("%+v %v", r, err)
	}
	if len(b.model.asked) > 0 {
		t.Error("the model was asked")
	}
}

// Undo says which calls it cannot take back, with what they acted on; Redo brings
// the turn back until the next message. Both work in the next process.
func TestUndoSaysWhatStays(t *testing.T) {
	b := newBench(t, nil, says("hello"), calls("slow__look", "{}", "slow__write", `{"content":"a long text","path":"notes/plan.md","password":"hunter2"}`, "slow__write", `{"path":"bad"}`, "slow__wait", "{}"))
	slow, started, _ := slowTool()
	b.attach("slow", slow)
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	go func() { within(t, "the call", started); s.StopStep() }()
	s.Send(t.Context(), "change things")
	before, _ := json.Marshal(s.Messages())
	b.host.Close()

	b = again(t, b)
	s = b.session(t, s.ID)
	u, err := s.Undo()
	if err != nil || u.Text != "change things" {
		t.Fatalf("%+v %v", u, err)
	}
	if got := strings.Join(u.Left(), "\n"); got != "What these calls did stays as it is:\n  slow/write (path: notes/plan.md)\n  slow/write (path: bad), which failed\n  slow/wait, which may or may not have taken effect" {
		t.Errorf("left:\n%s", got)
	}
	if n := len(s.Messages()); n != 2 {
		t.Errorf("%d messages", n)
	}
	if stop, _ := s.LastEnd(); stop != "" {
		t.Errorf("it ended with %s", stop)
	}
	if u, err := s.Undo(); err != nil || u.Text != "hi" || u.Left() != nil {
		t.Errorf("%+v %v", u, err)
	}
	b.host.Close()

	b = again(t, b)
	s = b.session(t, s.ID)
	for _, want := range []string{"hi", "change things"} {
		if u, err := s.Redo(); err != nil || u.Text != want {
			t.Fatalf("%+v %v", u, err)
		}
	}
	if after, _ := json.Marshal(s.Messages()); string(after) != strings.ReplaceAll(string(before), "hunter2", "[redacted]") {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if stop, _ := s.LastEnd(); stop != "cancelled" {
		t.Errorf("it ended with %q", stop)
	}
	if _, err := s.Redo(); err == nil {
		t.Error("redone again")
	}
	s.Undo()
	b.model.turns = []turnFunc{says("new")}
	if err := s.Send(t.Context(), "something new"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Redo(); err == nil || len(b.store.saved[s.ID].Undone) != 0 {
		t.Errorf("redo after a message: %v", err)
	}
}

// again is the host of the next process, with the same store.
func again(t *testing.T, before *bench) *bench {
	b := newBench(t, nil)
	b.store = before.store
	b.host.opts.Store = b.store
	return b
}

func (b *bench) session(t *testing.T, id string) *Session {
	t.Helper()
	s, err := b.host.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A result that is delivered after an undo keeps its place when the turn comes
// back.
func TestRedoAfterADelivery(t *testing.T) {
	b := newBench(t, nil, says("one"), says("two"))
	s := b.host.NewSession()
	send(t, s, "first")
	send(t, s, "second")
	if _, err := s.Undo(); err != nil {
		t.Fatal(err)
	}
	b.host.Close()
	b = again(t, b)
	s = b.session(t, s.ID)
	if err := s.Claim(false); err != nil {
		t.Fatal(err)
	}
	s.deliver(ToolCall{ID: "c9", Server: "x", Tool: "y", Name: "x__y", Arguments: json.RawMessage(`{}`), Task: &TaskState{ID: "t1"}}, llm.TextResult("c9", "late"))
	if _, err := s.Redo(); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range s.Messages() {
		all = append(all, m.Text())
	}
	if got := strings.Join(all, "|"); got != "first|one|second|two|Task t1 of x/y has ended.||late" {
		t.Errorf("the conversation is %s", got)
	}
}
