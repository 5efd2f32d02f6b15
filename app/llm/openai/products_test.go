package openai

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

func productModel(s *llmtest.Server, p llmtest.Profile) *Model {
	return New("m", &Options{Key: llmtest.Key, KeyHeader: p.KeyHeader, BaseURL: p.Base(s), Dialect: Dialect(p.Dialect), API: Chat, Client: s.Client(), Attempts: 2, CacheKey: "k"})
}

// A conversation with thinking, two calls of one answer and their results ends right
// with every product, whatever its quirks are: the same text, the same calls with
// ids of their own, and a second request that the product accepts.
func TestProductsAndTheirQuirks(t *testing.T) {
	calls := []llm.ToolCall{{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{"a":1,"b":"zwölf"}`)}, {ID: "call_2", Name: "add", Arguments: llm.RawMessage(`{"a":2}`)}}
	for name, p := range llmtest.Profiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewProduct(t, p,
				llmtest.Turn{Thinking: []string{"let ", "me see"}, Text: []string{"One ", "moment."}, Calls: calls, Usage: llm.Usage{Input: 5, Output: 7}},
				llmtest.Turn{Calls: calls[:1], Usage: llm.Usage{Input: 5, Output: 7}},
				llmtest.Turn{Text: []string{"Do", "ne"}, Usage: llm.Usage{Input: 50, Output: 7}})
			m := productModel(s, p)
			r := &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.User("go")}, Effort: llm.EffortAuto, Tools: []llm.Tool{{Name: "add", Schema: llm.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`)}}}
			seen := map[string]bool{}
			for step := range 2 {
				a, err := llm.Ask(t.Context(), m, r)
				if err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				r.Messages = append(r.Messages, a.Message)
				var got []string
				var results []llm.ToolResult
				for _, part := range a.Message.Parts {
					if part.Kind == llm.PartToolCall {
						got = append(got, part.Call.Name+string(part.Call.Arguments)+part.Call.Problem)
						results = append(results, llm.ToolResult{CallID: part.Call.ID, Parts: []llm.Part{llm.Text("ok")}})
						if id := fmt.Sprint(step, part.Call.ID); part.Call.ID == "" || seen[id] {
							t.Errorf("two calls have the id %q", part.Call.ID)
						} else {
							seen[id] = true
						}
					}
				}
				want := []string{`add{"a":1,"b":"zwölf"}`, `add{"a":2}`}[:2-step]
				if fmt.Sprint(got) != fmt.Sprint(want) || a.Stop != llm.StopToolCalls && a.Stop != llm.StopEnd {
					t.Errorf("step %d: the calls are %q, stop %s", step, got, a.Stop)
				}
				if thought := thoughtOf(a.Message); step == 0 && (a.Message.Text() != "One moment." || thought != "let me see") {
					t.Errorf("text %q, thinking %q", a.Message.Text(), thought)
				}
				if want := (llm.Usage{Input: 5, Output: 7}); !p.NoUsage && (a.Usage.Input != want.Input || a.Usage.Output != want.Output) {
					t.Errorf("usage %+v", a.Usage)
				}
				r.Messages = append(r.Messages, llm.Results(results...))
			}
			a, err := llm.Ask(t.Context(), m, r)
			if err != nil || a.Message.Text() != "Done" || a.Stop != llm.StopEnd {
				t.Errorf("%v %+v", err, a)
			}
			for _, member := range p.Refuses {
				if n := strings.Count(string(s.Last()), `"`+member+`"`); n > 0 {
					t.Errorf("%s is sent again and again", member)
				}
			}
		})
	}
}

func thoughtOf(m llm.Message) (text string) {
	for _, p := range m.Parts {
		if p.Kind == llm.PartThinking {
			text += p.Text
		}
	}
	return text
}

// An error of a product is an error, with its words, also if its status is 200 or
// it follows some text; and an answer that is cut off is none.
func TestErrorsOfProducts(t *testing.T) {
	for name, p := range llmtest.Profiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				turn llmtest.Turn
				kind llm.ErrorKind
				has  string
			}{
				{llmtest.Turn{Status: 500}, llm.ErrServer, "error set by the test"},
				{llmtest.Turn{Text: []string{"Hel"}, Fail: "the engine died"}, llm.ErrServer, "the engine died"},
				{llmtest.Turn{Text: []string{"Hel"}, Cut: true}, llm.ErrNetwork, ""},
			} {
				s := llmtest.NewProduct(t, p, c.turn)
				m := productModel(s, p)
				m.client.Retry.Attempts = 1
				start := time.Now()
				_, err := llm.Ask(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("go")}})
				if llm.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.has) || strings.Contains(fmt.Sprint(err), llmtest.Key) {
					t.Errorf("%+v: %s, %v (%s)", c.turn, llm.KindOf(err), err, time.Since(start))
				}
			}
		})
	}
}

// Gemini is asked for its thoughts unless it shall not think, and asked again without
// them if it does not return any.
func TestGeminiIsAskedForItsThoughts(t *testing.T) {
	p := llmtest.Profiles["gemini"]
	s := llmtest.NewProduct(t, p, llmtest.Turn{Thinking: []string{"hm"}, Text: []string{"ok"}})
	m := productModel(s, p)
	asked := func(effort string) string {
		a, err := llm.Ask(t.Context(), m, &llm.Request{Effort: effort, Messages: []llm.Message{llm.User("go")}})
		if err != nil || a.Message.Text() != "ok" || thoughtOf(a.Message) != "hm" {
			t.Errorf("%s: %v %+v", effort, err, a)
		}
		return string(s.Last())
	}
	const wants = `"extra_body":{"google":{"thinking_config":{"include_thoughts":true}}}`
	for effort, want := range map[string]bool{llm.EffortAuto: true, "high": true, llm.EffortNone: false, "": false} {
		if got := asked(effort); strings.Contains(got, wants) != want {
			t.Errorf("effort %q: %s", effort, got)
		}
	}
	s.Refuse(llmtest.Refusal{Member: "extra_body", Message: "Unknown name \"include_thoughts\": Cannot find field."})
	if got := asked("high"); strings.Contains(got, "extra_body") || !strings.Contains(got, `"reasoning_effort":"high"`) {
		t.Errorf("after a rejection: %s", got)
	}
}
