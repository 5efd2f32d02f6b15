package web

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
)

// slowModel says a part of its answer, and the rest when it may.
type slowModel struct{ goOn chan struct{} }

func (slowModel) Info() llm.Info { return llm.Info{Provider: "test", Name: "slow"} }

func (m slowModel) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, word := range []string{"the ", "first ", "half"} {
			if !yield(llm.Event{Kind: llm.EventText, Text: word}, nil) {
				return
			}
		}
		select {
		case <-m.goOn:
		case <-ctx.Done():
			yield(llm.Event{}, ctx.Err())
			return
		}
		said := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: "the first half and the second"}}}
		_ = yield(llm.Event{Kind: llm.EventText, Text: " and the second"}, nil) && yield(llm.Event{Kind: llm.EventDone, Message: &said}, nil)
	}
}

// A page that is opened in the middle of a turn gets what was said so far, and
// where the stream goes on; afterwards the session has it all.
func TestTurnInTheMiddle(t *testing.T) {
	s := newSite(t, nil).enter()
	m := slowModel{make(chan struct{})}
	s.work.Host.SetModel(m)
	var made struct{ ID string }
	s.post("/api/v1/sessions", `{}`, &made)
	from := s.web.feed.last()
	s.post("/api/v1/sessions/"+made.ID+"/send", `{"text":"tell me"}`, nil)
	var got struct {
		Busy     bool
		Messages []json.RawMessage
		Turn     *turn
	}
	over := false
	for e := range s.stream(fmt.Sprintf("?feed=%d&wire=0", from)) {
		if e.kind != "host" {
			continue
		}
		var told host.Event
		if err := json.Unmarshal([]byte(e.data), &told); err != nil {
			t.Fatal(err)
		}
		if told.Text == "half" {
			s.get("/api/v1/sessions/"+made.ID, &got)
			if !got.Busy || got.Turn == nil || got.Turn.Before != 0 || len(got.Turn.Events) != 2 || got.Turn.Seq != told.Seq {
				t.Fatalf("in the middle: %+v", got)
			}
			if e := got.Turn.Events; e[0].Text != "tell me" || e[1].Text != "the first half" {
				t.Errorf("kept are %+v", e)
			}
			close(m.goOn)
		}
		if told.Kind == host.EventDone {
			over = true
			break
		}
	}
	if !over {
		t.Fatal("the stream ended before the turn")
	}
	got.Turn = nil
	s.get("/api/v1/sessions/"+made.ID, &got)
	if got.Busy || got.Turn != nil || len(got.Messages) != 2 {
		t.Errorf("afterwards: %+v", got)
	}
	var state struct{ Busy []string }
	s.get("/api/v1/state", &state)
	if len(state.Busy) != 0 {
		t.Errorf("busy afterwards: %q", state.Busy)
	}
}

// Of a turn without end a bounded part is kept: the person's words, and the
// latest.
func TestTurnIsBounded(t *testing.T) {
	all := turns{all: map[string]*turn{}}
	all.begin("x", 3)
	seq := uint64(0)
	hear := func(e host.Event) {
		seq++
		e.Seq, e.Session = seq, "x"
		all.add(e)
	}
	hear(host.Event{Kind: host.EventTurn, Text: "go"})
	for i := range 3 * turnEvents {
		hear(host.Event{Kind: host.EventTool, Call: &host.ToolCall{ID: fmt.Sprint(i), Phase: host.CallRunning}})
		hear(host.Event{Kind: host.EventTool, Call: &host.ToolCall{ID: fmt.Sprint(i), Phase: host.CallDone, ForModel: strings.Repeat("x", 100)}})
	}
	now := all.of("x")
	last := now.Events[len(now.Events)-1]
	if len(now.Events) > turnEvents || !now.Cut || now.Before != 3 || now.Seq != seq || now.Events[0].Text != "go" || last.Call.Phase != host.CallDone || last.Call.ID != fmt.Sprint(3*turnEvents-1) {
		t.Errorf("kept are %d events, cut %v, the last is %+v", len(now.Events), now.Cut, last)
	}
	for range 6000 {
		hear(host.Event{Kind: host.EventText, Text: strings.Repeat("word ", 400)})
	}
	now = all.of("x")
	size := 0
	for _, e := range now.Events {
		size += len(e.Text)
	}
	if size > turnBytes || size < turnBytes/2 || now.Events[0].Text != "go" || now.Events[len(now.Events)-1].Seq != seq {
		t.Errorf("%d bytes of words are kept in %d events", size, len(now.Events))
	}
	hear(host.Event{Kind: host.EventDone})
	if all.of("x") != nil || len(all.running()) != 0 {
		t.Error("the turn does not end")
	}
}

// D10: text that was retracted is not kept for pages that are opened later.
func TestRetractedTextIsDropped(t *testing.T) {
	all := turns{all: map[string]*turn{}}
	all.begin("x", 0)
	for i, e := range []host.Event{
		{Kind: host.EventTurn, Text: "go"}, {Kind: host.EventText, Text: "Let me see."}, {Kind: host.EventTool, Call: &host.ToolCall{ID: "1"}},
		{Kind: host.EventThinking, Text: "hm"}, {Kind: host.EventText, Text: "Half"}, {Kind: host.EventNotice, Text: "lost"}, {Kind: host.EventRetract}, {Kind: host.EventText, Text: "All"},
	} {
		e.Seq, e.Session = uint64(i+1), "x"
		all.add(e)
	}
	var got []string
	for _, e := range all.of("x").Events {
		got = append(got, string(e.Kind)+" "+e.Text)
	}
	if text := strings.Join(got, "|"); text != "turn go|text Let me see.|tool |notice lost|text All" {
		t.Errorf("kept %s", text)
	}
}
