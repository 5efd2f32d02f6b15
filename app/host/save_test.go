package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// H6: what the person says is in the store before the model is asked, an answer
// before its calls are made, and each result before the next call is.
func TestTurnIsSavedAsItGoes(t *testing.T) {
	var b *bench
	var session *Session
	inStore := func() string {
		saved, err := b.store.Load(session.ID)
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, r := range saved.Rows {
			all = append(all, string(r.Message.Role))
		}
		for _, what := range saved.Started {
			all = append(all, "started "+what)
		}
		return strings.Join(all, " ")
	}
	var seen []string
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "look", "", func(context.Context, *mcp.Call, struct{}) (string, error) {
		seen = append(seen, inStore())
		return "done", nil
	}, nil)
	look := calls("x__look", "{}", "x__look", "{}")
	b = newBench(t, nil, func(r *llm.Request) (llm.Message, error) {
		seen = append(seen, inStore())
		return look(r)
	}, says("ok"))
	b.attach("x", s)
	session = b.host.NewSession()
	if err := session.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := "user|user assistant started x/look|user assistant tool started x/look"
	if got := strings.Join(seen, "|"); got != want {
		t.Errorf("in the store were\n%s, not\n%s", got, want)
	}
	rows := 0 // H7: each row is written once
	for _, u := range b.store.saves {
		rows += len(u.Rows)
	}
	if rows != 5 {
		t.Errorf("%d rows were written for 5", rows)
	}
	if n := len(session.Messages()); n != 4 {
		t.Errorf("the conversation has %d messages", n)
	}
}

// H6: a call that ran when the process ended is told of, and its result is not
// made up.
func TestCallsOfADeadProcessAreToldOf(t *testing.T) {
	b := newBench(t, nil, says("ok"))
	call := func(id string) llm.Part {
		return llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: "x__look"}}
	}
	dead := Owner{ID: "gone", PID: 1 << 30, Machine: b.host.owner.Machine}
	err := b.store.Save(&Update{New: true, Owner: dead, Saved: Saved{ID: "s", Started: map[string]string{"b": "x/look"}, Rows: []Row{
		{0, llm.User("go")},
		{1, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call("a"), call("b"), call("c")}}},
		{2, llm.Results(llm.TextResult("a", "first"))},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.host.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	if n := b.all(EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "x/look was running when Tenon ended") {
		t.Errorf("told %+v", n)
	}
	results := b.model.asked[0].Messages[2].Parts
	for i, want := range []string{"first", "Whether it has done something is not known", "The call was not made"} {
		if got := llm.Results(*results[i].Result).Text(); !strings.Contains(got, want) {
			t.Errorf("result %d is %q", i, got)
		}
	}
}

// H7: two hosts on one session. The second is told, may take over or copy, and
// neither overwrites the other.
func TestTwoHostsOnOneSession(t *testing.T) {
	b := newBench(t, nil, says("one"), says("two"))
	mine := b.host.NewSession()
	if err := mine.Send(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	other := newBench(t, func(o *Options) { o.Store = b.store }, says("three"), says("four"))
	theirs, err := other.host.Session(mine.ID)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, ok := errors.AsType[*OpenElsewhereError](theirs.Send(t.Context(), "x"))
	if !ok || elsewhere.Owner.ID != b.host.owner.ID {
		t.Fatalf("the second writes, too: %v", elsewhere)
	}
	duplicate, err := other.host.CopySession(mine.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := duplicate.Send(t.Context(), "in the copy"); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Claim(true); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Send(t.Context(), "taken over"); err != nil {
		t.Fatal(err)
	}
	if err := mine.Send(t.Context(), "still here"); err != nil {
		t.Fatal(err)
	}
	if n := b.all(EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "This session was continued in process") {
		t.Errorf("the first was told %+v", n)
	}
	texts := map[string]string{}
	for id, s := range b.store.saved {
		for _, r := range s.Rows {
			texts[id] += r.Message.Text() + " "
		}
	}
	if len(texts) != 3 || texts[mine.ID] != "first one taken over four " || texts[duplicate.ID] != "first one in the copy three " || texts[mine.Summary().ID] != "first one still here two " {
		t.Errorf("the store has %q", texts)
	}
}

// A session that could not be saved is saved with the next step.
func TestUnsavedRowsAreKept(t *testing.T) {
	b := newBench(t, nil, says("one"))
	s := b.host.NewSession()
	real := b.host.opts.Store
	b.host.opts.Store = failing{real}
	s.add(llm.User("lost?"))
	s.save()
	if n := b.all(EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "Cannot save the session: the disk is full") {
		t.Errorf("told %+v", n)
	}
	b.host.opts.Store = real
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got := b.store.saved[s.ID].Rows; len(got) != 3 || got[0].Message.Text() != "lost?" {
		t.Errorf("saved %+v", got)
	}
}

type failing struct{ Store }

func (failing) Save(*Update) error { return errors.New("the disk is full") }

// H27: the last session is that of the folder, and no one-shot run.
func TestLastSessionOfAFolder(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Folder = "/a" }, says("1"), says("2"), says("3"))
	mine := b.host.NewSession()
	for _, change := range []func(){func() {}, func() { b.host.opts.Folder = "/b" }, func() { b.host.opts.Folder, b.host.opts.OneShot = "/a", true }} {
		change()
		s := mine
		if len(mine.Messages()) > 0 {
			s = b.host.NewSession()
		}
		if err := s.Send(t.Context(), "hi"); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := b.host.LastSession("/a"); id != mine.ID || err != nil {
		t.Errorf("got %s, %v", id, err)
	}
	if _, err := b.host.LastSession("/c"); !errors.Is(err, ErrNoSession) {
		t.Errorf("got %v", err)
	}
}

// H8: the last turn can be taken back.
func TestUndo(t *testing.T) {
	b := newBench(t, nil, says("one"), calls("calc__add", `{"a":1,"b":2}`), says("two"), says("three"))
	b.attach("calc", calculator())
	s := b.host.NewSession()
	for _, text := range []string{"first", "second"} {
		if err := s.Send(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := undo(s); text != "second" || err != nil {
		t.Errorf("undid %q, %v", text, err)
	}
	if n := len(b.store.saved[s.ID].Rows); n != 2 {
		t.Errorf("%d rows are left in the store", n)
	}
	if err := s.Send(t.Context(), "third"); err != nil {
		t.Fatal(err)
	}
	if m := b.model.asked[3].Messages; len(m) != 3 || m[2].Text() != "third" {
		t.Errorf("the model was given %+v", m)
	}
	s.Undo()
	s.Undo()
	if _, err := s.Undo(); err == nil {
		t.Error("nothing was undone")
	}
}

func undo(s *Session) (text string, err error) {
	u, err := s.Undo()
	if err != nil {
		return "", err
	}
	return u.Text, nil
}
