package openai

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

func productModel(s *llmtest.Server, p llmtest.Profile) *Model {
	api := Chat
	if p.Wire == llmtest.WireResponses {
		api = Responses
	}
	return New("m", &Options{Key: llmtest.Key, KeyHeader: p.KeyHeader, BaseURL: p.Base(s), Dialect: Dialect(p.Dialect), API: api, Client: s.Client(), Attempts: 2, CacheKey: "k"})
}

// A conversation ends right with every product, whatever its quirks are, and its
// errors are errors.
func TestProductsAndTheirQuirks(t *testing.T) {
	for name, p := range llmtest.Profiles {
		if p.Wire == llmtest.WireMessages {
			continue // package anthropic
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llmtest.Converse(t, p, func(s *llmtest.Server) llm.Model { return productModel(s, p) })
			llmtest.CheckErrors(t, p, func(s *llmtest.Server) llm.Model {
				m := productModel(s, p)
				m.client.Retry.Attempts = 1
				return m
			})
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
