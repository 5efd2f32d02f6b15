package llmtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Converse checks a client of a product with a conversation: thinking, two calls of
// one answer and their results. It must get the same text, the same calls with ids
// of their own and the usage, and the product must accept the requests that follow.
func Converse(t *testing.T, p Profile, model func(*Server) llm.Model) {
	t.Helper()
	calls := []llm.ToolCall{{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{"a":1,"b":"zwölf"}`)}, {ID: "call_2", Name: "add", Arguments: llm.RawMessage(`{"a":2}`)}}
	used := llm.Usage{Input: 5, Output: 7}
	s := NewProduct(t, p,
		Turn{Thinking: []string{"let ", "me see"}, Signature: "c2ln", Text: []string{"One ", "moment."}, Calls: calls, Usage: used},
		Turn{Calls: calls[:1], Usage: used},
		Turn{Text: []string{"Do", "ne"}, Usage: llm.Usage{Input: 50, Output: 7}})
	m := model(s)
	r := &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.User("go")}, Effort: llm.EffortAuto, Tools: []llm.Tool{{Name: "add", Schema: llm.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`)}}}
	for step := range 2 {
		a, err := llm.Ask(t.Context(), m, r)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		r.Messages = append(r.Messages, a.Message)
		var got []string
		var thought string
		var results []llm.ToolResult
		seen := map[string]bool{}
		for _, part := range a.Message.Parts {
			switch part.Kind {
			case llm.PartThinking:
				thought += part.Text
			case llm.PartToolCall:
				got = append(got, part.Call.Name+string(part.Call.Arguments)+part.Call.Problem)
				results = append(results, llm.ToolResult{CallID: part.Call.ID, Parts: []llm.Part{llm.Text("ok")}})
				if part.Call.ID == "" || seen[part.Call.ID] {
					t.Errorf("two calls have the id %q", part.Call.ID)
				}
				seen[part.Call.ID] = true
			}
		}
		want := []string{`add{"a":1,"b":"zwölf"}`, `add{"a":2}`}[:2-step]
		if fmt.Sprint(got) != fmt.Sprint(want) || a.Stop != llm.StopToolCalls && a.Stop != llm.StopEnd {
			t.Errorf("step %d: the calls are %q, stop %s", step, got, a.Stop)
		}
		if step == 0 && (a.Message.Text() != "One moment." || thought != "let me see") {
			t.Errorf("text %q, thinking %q", a.Message.Text(), thought)
		}
		if !p.NoUsage && (a.Usage.Input != used.Input || a.Usage.Output != used.Output) {
			t.Errorf("usage %+v", a.Usage)
		}
		r.Messages = append(r.Messages, llm.Results(results...))
	}
	a, err := llm.Ask(t.Context(), m, r)
	if err != nil || a.Message.Text() != "Done" || a.Stop != llm.StopEnd {
		t.Errorf("%v %+v", err, a)
	}
	for _, member := range p.Refuses {
		if strings.Contains(string(s.Last()), `"`+member+`"`) {
			t.Errorf("%s is sent again and again", member)
		}
	}
}

// CheckErrors checks that an error of a product is an error, with its words, also if
// its status is 200 or it follows some text, and that an answer that is cut off is
// none. The models must not retry.
func CheckErrors(t *testing.T, p Profile, model func(*Server) llm.Model) {
	t.Helper()
	for _, c := range []struct {
		turn Turn
		kind llm.ErrorKind
		has  string
	}{
		{Turn{Status: 500}, llm.ErrServer, "error set by the test"},
		{Turn{Text: []string{"Hel"}, Fail: "the engine died"}, llm.ErrServer, "the engine died"},
		{Turn{Text: []string{"Hel"}, Cut: true}, llm.ErrNetwork, ""},
	} {
		kind := c.kind
		if c.turn.Fail != "" && p.Wire == WireMessages && !p.PlainErrors {
			kind = llm.ErrOverloaded // the error of the original
		}
		_, err := llm.Ask(t.Context(), model(NewProduct(t, p, c.turn)), &llm.Request{Messages: []llm.Message{llm.User("go")}})
		if llm.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), c.has) || strings.Contains(fmt.Sprint(err), Key) {
			t.Errorf("%+v: %s, %v", c.turn, llm.KindOf(err), err)
		}
	}
}
