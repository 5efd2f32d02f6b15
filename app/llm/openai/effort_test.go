package openai_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/app/llm/openai"
)

func TestEffort(t *testing.T) {
	for _, test := range []struct {
		api     openai.API
		dialect openai.Dialect
		model   string
		efforts []string
		effort  string
		want    string // in the request; "!" means not
	}{
		{openai.Responses, openai.OpenAI, "gpt-5", nil, "auto", `"reasoning":{"summary":"auto"}`},
		{openai.Responses, openai.OpenAI, "gpt-5", nil, "high", `"reasoning":{"effort":"high","summary":"auto"}`},
		{openai.Responses, openai.OpenAI, "gpt-5", nil, "none", `"reasoning":{"effort":"none"}`},
		{openai.Responses, openai.OpenAI, "gpt-4.1", nil, "auto", `!"reasoning"`},
		{openai.Responses, openai.Azure, "my-deployment", []string{"low"}, "auto", `"reasoning":{"summary":"auto"}`},
		{openai.Responses, openai.OpenAI, "gpt-5", []string{}, "high", `!"reasoning"`},
		{openai.Chat, openai.Plain, "any", nil, "auto", `!reasoning_effort`},
		{openai.Chat, openai.Plain, "any", nil, "low", `"reasoning_effort":"low"`},
		{openai.Chat, openai.Plain, "any", []string{}, "low", `!reasoning_effort`},
		{openai.Chat, openai.Gemini, "gemini-3-pro", nil, "medium", `"reasoning_effort":"medium"`},
	} {
		s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
		m := openai.New(test.model, &openai.Options{Key: llmtest.Key, BaseURL: s.V1(), Client: s.Client(), API: test.api, Dialect: test.dialect, Efforts: test.efforts})
		if _, err := llm.Ask(t.Context(), m, &llm.Request{Effort: test.effort, Messages: []llm.Message{llm.User("x")}}); err != nil {
			t.Fatal(err)
		}
		not, absent := strings.CutPrefix(test.want, "!")
		if strings.Contains(string(s.Last()), not) == absent {
			t.Errorf("%+v: %s", test, s.Last())
		}
	}
}

// What the model refuses is left out once, with a note, and remembered: the
// summary, which organizations that are not verified do not get, and the effort.
func TestRefusedEffortIsLeftOut(t *testing.T) {
	for _, test := range []struct {
		api      openai.API
		refusals []llmtest.Refusal
		requests int
		note     string
		left     string
	}{
		{openai.Responses, []llmtest.Refusal{{Member: "reasoning.summary", Message: "Your organization must be verified to generate reasoning summaries."}}, 2, "gpt-5 does not return a summary", `"reasoning":{"effort":"xhigh"}`},
		{openai.Responses, []llmtest.Refusal{{Member: "reasoning.effort", Message: "Unsupported value: 'xhigh' is not supported with the 'gpt-5' model: reasoning.effort"}}, 2, "gpt-5 does not take effort xhigh", ""},
		{openai.Chat, []llmtest.Refusal{{Member: "reasoning_effort", Message: "Unrecognized request argument supplied: reasoning_effort"}}, 2, "gpt-5 does not take effort xhigh", ""},
	} {
		s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
		for _, r := range test.refusals {
			s.Refuse(r)
		}
		m := model(s, test.api)
		for i := range 2 {
			var notes []string
			for e, err := range m.Stream(t.Context(), &llm.Request{Effort: "xhigh", Messages: []llm.Message{llm.User("x")}}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == llm.EventRetry {
					notes = append(notes, e.Note)
				}
			}
			if len(s.Requests()) != test.requests+i || (len(notes) == 1) != (i == 0) || i == 0 && !strings.HasPrefix(notes[0], test.note) || !strings.Contains(string(s.Last()), test.left) {
				t.Errorf("%s: %d requests, %q, %s", test.api, len(s.Requests()), notes, s.Last())
			}
		}
	}
}

// D18: thinking goes back within the running tool loop, and not in later turns.
func TestThinkingOfTheRunningLoop(t *testing.T) {
	call := llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{"a":1}`)}}
	for prefix, member := range map[string]string{"chat-reasoning-content:": `"reasoning_content":"hm"`, "chat-reasoning:": `"reasoning":"hm"`} {
		loop := []llm.Message{llm.User("x"), {Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartThinking, Text: "hm", Signature: prefix}, call}},
			llm.Results(llm.ToolResult{CallID: "call_1", Parts: []llm.Part{llm.Text("1")}})}
		later := append(append([]llm.Message{}, loop...), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("1")}}, llm.User("y"))
		for i, messages := range [][]llm.Message{loop, later} {
			s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
			if _, err := llm.Ask(t.Context(), model(s, openai.Chat), &llm.Request{Tools: tools, Messages: messages}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(s.Last()), member) != (i == 0) {
				t.Errorf("%s, %d: %s", prefix, i, s.Last())
			}
		}
	}
}
