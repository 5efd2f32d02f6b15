package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestTurnWithTools(t *testing.T) {
	b := newBench(t, nil, calls("calc__add", `{"a":2,"b":3}`), says("It is 5."))
	b.attach("calc", calculator())
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "add 2 and 3"); err != nil {
		t.Fatal(err)
	}
	if got := b.phases(); got != "calc__add:proposed calc__add:waiting calc__add:running calc__add:done" {
		t.Errorf("the call went %s", got)
	}
	if got := b.last(); !strings.Contains(got, `<result from="calc/add"`) || strings.Count(got, "5") == 0 || strings.Contains(got, "result\":5\n{") {
		t.Errorf("the model was told %q", got)
	}
	done := b.all(EventDone)
	if len(done) != 1 || done[0].Stop != "end" || done[0].Session != s.ID {
		t.Errorf("it ended %+v", done)
	}
	if u := b.all(EventUsage); u[len(u)-1].Usage.Input != 20 {
		t.Errorf("it cost %+v", u[len(u)-1].Usage)
	}
	if saved := b.store.saved[s.ID]; len(saved.Rows) != 4 || saved.Title != "add 2 and 3" {
		t.Errorf("saved %+v", saved)
	}
}

// H3: calls that only read may overlap.
func TestReadOnlyCallsOverlap(t *testing.T) {
	meet := make(chan struct{})
	s := server.New(mcp.Implementation{Name: "two", Version: "1"}, nil)
	server.AddTool(s, "half", "", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		select { // each waits for the other
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return "met", nil
	}, &server.ToolOptions{Annotations: server.ReadOnly()})
	b := newBench(t, nil, calls("two__half", "{}", "two__half", "{}"), says("done"))
	b.attach("two", s)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if err := b.host.NewSession().Send(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	if got := b.last(); strings.Count(got, "met") != 2 {
		t.Errorf("the model was told %q", got)
	}
}

func TestStopReachesTheServer(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	s := server.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
	server.AddTool(s, "wait", "", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return "", ctx.Err()
	}, nil)
	b := newBench(t, nil, calls("slow__wait", "{}"))
	b.attach("slow", s)
	session := b.host.NewSession()
	go func() {
		<-started
		session.Stop()
	}()
	if err := session.Send(t.Context(), "wait"); !errors.Is(err, context.Canceled) {
		t.Fatalf("the turn ended with %v", err)
	}
	<-ended
	if done := b.all(EventDone); done[0].Stop != "cancelled" {
		t.Errorf("it ended %q", done[0].Stop)
	}
	// The conversation is whole: the call has a result, so that it can go on.
	m := session.Messages()
	if last := m[len(m)-1]; last.Role != llm.RoleTool || !strings.Contains(last.Text(), "cancelled") {
		t.Errorf("the conversation ends with %+v", last)
	}
}

func TestErrorsAreToldToTheModel(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "bad", Version: "1"}, nil)
	server.AddTool(s, "fail", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", errors.New("the disk is full") }, nil)
	server.AddTool(s, "refuse", "", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", mcp.Errorf(mcp.CodeInvalidParams, "no such row")
	}, nil)
	b := newBench(t, nil, calls("bad__fail", "{}", "bad__refuse", "{}", "bad__missing", "{}"), says("sorry"))
	b.attach("bad", s)
	if err := b.host.NewSession().Send(t.Context(), "try"); err != nil {
		t.Fatal(err)
	}
	got := b.last()
	for _, want := range []string{"the disk is full", "did not accept the call", "no such row", `no tool named "bad__missing"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the model was not told %q but %q", want, got)
		}
	}
	for _, m := range b.model.asked[1].Messages[2].Parts {
		if !m.Result.IsError {
			t.Errorf("%+v is not marked as an error", m.Result)
		}
	}
}

func TestListChangesArePickedUp(t *testing.T) {
	s := calculator()
	b := newBench(t, nil, says("one"), says("two"), says("three"))
	b.attach("calc", s)
	session := b.host.NewSession()
	names := func() string {
		var all []string
		for _, tool := range b.model.asked[len(b.model.asked)-1].Tools {
			all = append(all, tool.Name)
		}
		return strings.Join(all, " ")
	}
	send := func() string {
		if err := session.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		return names()
	}
	if got := send(); got != "calc__add read_result" {
		t.Errorf("at first: %s", got)
	}
	server.AddTool(s, "sub", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
	if got := send(); got != "calc__add read_result" {
		t.Errorf("before the news: %s", got)
	}
	b.host.Changed("calc")
	if got := send(); got != "calc__add calc__sub read_result" {
		t.Errorf("after the news: %s", got)
	}
}

func TestOneServerDoesNotHoldUpAnother(t *testing.T) {
	hung := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Call) (mcp.Result, error) {
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	})
	b := newBench(t, nil, calls("calc__add", `{"a":1,"b":1}`), says("2"))
	b.attach("calc", calculator())
	b.attach("hung", hung)
	if err := b.host.NewSession().Send(t.Context(), "add"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.phases(), "calc__add:done") {
		t.Errorf("the call went %s", b.phases())
	}
}

func TestDenyHidesAndRefuses(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Book = book(t, config.Settings{Rules: []config.Rule{{Effect: config.Deny, Server: "calc", Tool: "*"}}})
	}, calls("calc__add", `{"a":1,"b":1}`), says("no"))
	b.attach("calc", calculator())
	if err := b.host.NewSession().Send(t.Context(), "add"); err != nil {
		t.Fatal(err)
	}
	if n := len(b.model.asked[0].Tools); n != 1 {
		t.Errorf("the model was given %d tools", n)
	}
	if !strings.Contains(b.last(), "no tool named") {
		t.Errorf("the model was told %q", b.last())
	}
}

func TestPersonSaysNo(t *testing.T) {
	b := newBench(t, nil, calls("calc__add", `{"a":1,"b":1}`), says("all right"))
	b.answers = func(Ask) *Reply { return &Reply{Action: "deny"} }
	b.attach("calc", calculator())
	if err := b.host.NewSession().Send(t.Context(), "add"); err != nil {
		t.Fatal(err)
	}
	if got := b.last(); !strings.Contains(got, "The person denied this call.") {
		t.Errorf("the model was told %q", got)
	}
	if !strings.HasSuffix(b.phases(), "calc__add:denied") {
		t.Errorf("the call went %s", b.phases())
	}
}

func TestUnattendedRefuses(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Unattended = true }, calls("calc__add", `{"a":1,"b":1}`), says("no"))
	b.attach("calc", calculator())
	if err := b.host.NewSession().Send(t.Context(), "add"); err != nil {
		t.Fatal(err)
	}
	if len(b.all(EventAsk)) > 0 || !strings.Contains(b.last(), "Denied: no rule allows calc/add. Use --allow calc/add.") {
		t.Errorf("asked %d times; the model was told %q", len(b.all(EventAsk)), b.last())
	}
}

func TestContextTooLongIsCompacted(t *testing.T) {
	long := strings.Repeat("word ", 2000)
	s := server.New(mcp.Implementation{Name: "big", Version: "1"}, nil)
	server.AddTool(s, "text", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return long, nil }, nil)
	full := &llm.Error{Kind: llm.ErrContextLength}
	b := newBench(t, nil,
		calls("big__text", "{}"), says("a"), says("b"), says("c"),
		fails(full), says("short again"), // older results shrink
		fails(full), says("What was said."), says("summarized"), // nothing is left to shrink
	)
	b.attach("big", s)
	session := b.host.NewSession()
	for _, text := range []string{"one", "two", "three", "four", "five"} {
		if err := session.Send(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	notices := b.all(EventNotice)
	if len(notices) != 2 || !strings.Contains(notices[0].Text, "shortened") || !strings.Contains(notices[1].Text, "summarized") {
		t.Fatalf("told %+v", notices)
	}
	last := b.model.asked[len(b.model.asked)-1]
	if first := last.Messages[0].Text(); !strings.Contains(first, "What was said.") || len(last.Messages) > keepMessages+2 {
		t.Errorf("the conversation has %d messages and begins with %q", len(last.Messages), first)
	}
	if again := b.model.asked[5]; strings.Contains(fmt.Sprint(again.Messages[2]), long) {
		t.Error("the long result is still there")
	}
}

func TestTooManySteps(t *testing.T) {
	var turns []turnFunc
	for range 4 {
		turns = append(turns, calls("calc__add", `{"a":1,"b":1}`))
	}
	b := newBench(t, func(o *Options) { o.MaxSteps = 3 }, turns...)
	b.attach("calc", calculator())
	err := b.host.NewSession().Send(t.Context(), "for ever")
	if err == nil || !strings.Contains(err.Error(), "3 times") {
		t.Errorf("it ended with %v", err)
	}
	if done := b.all(EventDone); done[0].Stop != "limit" {
		t.Errorf("it ended %q", done[0].Stop)
	}
}

func TestOneTurnAtATime(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	b := newBench(t, nil, func(*llm.Request) (llm.Message, error) {
		close(running)
		<-release
		return llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("x")}}, nil
	})
	s := b.host.NewSession()
	first := make(chan error)
	go func() { first <- s.Send(t.Context(), "one") }()
	<-running
	if err := s.Send(t.Context(), "two"); !errors.Is(err, ErrBusy) {
		t.Errorf("the second turn: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestNoModel(t *testing.T) {
	b := newBench(t, nil)
	b.host.SetModel(nil)
	b.attach("calc", calculator())
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "hello"); !errors.Is(err, ErrNoModel) {
		t.Errorf("got %v", err)
	}
	call, err := s.Call(t.Context(), "calc", "add", json.RawMessage(`{"a":1,"b":2}`))
	if err != nil || call.Phase != CallDone || string(call.Result.StructuredContent) != `{"result":3}` {
		t.Errorf("a direct call: %+v, %v", call, err)
	}
}

func TestSessionsAreResumed(t *testing.T) {
	b := newBench(t, nil, says("first"))
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	b.host.Close()
	later := newBench(t, nil, says("second"))
	later.host.opts.Store = b.store
	again, err := later.host.Session(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Send(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if m := later.model.asked[0].Messages; len(m) != 3 || m[1].Text() != "first" {
		t.Errorf("the model was given %+v", m)
	}
	if _, err := later.host.Session("nobody"); err == nil {
		t.Error("a session that is not there was found")
	}
}
