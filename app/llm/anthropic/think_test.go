package anthropic_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

func named(s *llmtest.Server, name string, o anthropic.Options) *anthropic.Model {
	o.Key, o.BaseURL, o.Client = llmtest.Key, s.URL, s.Client()
	return anthropic.New(name, &o)
}

// retried collects the notes of an answer.
func retried(t *testing.T, m llm.Model, r *llm.Request) (notes []string) {
	t.Helper()
	for e, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == llm.EventRetry {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// What the model refuses is left out once, with a note, and remembered.
func TestRefusedEffortIsLeftOut(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
	s.Refuse(llmtest.Refusal{Member: "thinking.display", Message: "thinking.display: Extra inputs are not permitted"})
	s.Refuse(llmtest.Refusal{Member: "output_config.effort", Message: "This model does not support effort level 'max'."})
	m := named(s, "claude-opus-4-6", anthropic.Options{})
	r := &llm.Request{Effort: "max", Messages: []llm.Message{llm.User("x")}}
	notes := strings.Join(retried(t, m, r), "\n")
	if n := len(s.Requests()); n != 3 || notes != "claude-opus-4-6 does not return a summary of its thinking; asking without it\nclaude-opus-4-6 does not take effort max; asking without it" {
		t.Errorf("%d requests, notes %s", n, notes)
	}
	if notes := retried(t, m, r); len(notes) != 0 || len(s.Requests()) != 4 {
		t.Errorf("asked again: %q, %d", notes, len(s.Requests()))
	}
	if r.Effort = "auto"; len(retried(t, m, r)) != 0 || !strings.Contains(string(s.Last()), `"thinking":{"type":"adaptive"}`) {
		t.Errorf("another effort: %s", s.Last())
	}
}

// An error that has nothing to do with the effort stays an error.
func TestOtherErrorsAreNotReduced(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Status: 400, Body: `{"error":{"type":"invalid_request_error","message":"messages: too many images"}}`})
	_, err := llm.Ask(t.Context(), named(s, "claude-opus-5", anthropic.Options{}), &llm.Request{Effort: "auto", Messages: []llm.Message{llm.User("x")}})
	if llm.KindOf(err) != llm.ErrBadRequest || len(s.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.Requests()))
	}
}

// A token budget needs an open tool loop that begins with thinking, and stays
// below the model's limit.
func TestThinkingWithABudget(t *testing.T) {
	call := llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{}`)}}
	thought := llm.Part{Kind: llm.PartThinking, Text: "hm", Signature: "anthropic:sig"}
	result := llm.Results(llm.ToolResult{CallID: "call_1", Parts: []llm.Part{llm.Text("5")}})
	for _, test := range []struct {
		name  string
		parts []llm.Part
		more  []llm.Message
		most  int
		want  string
	}{
		{"open loop with thinking", []llm.Part{thought, call}, nil, 0, `"budget_tokens":24576`},
		{"open loop without thinking", []llm.Part{call}, nil, 0, "!thinking"},
		{"closed loop", []llm.Part{call}, []llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("done")}}, llm.User("and now?")}, 0, `"budget_tokens":24576`},
		{"small model", []llm.Part{thought, call}, nil, 8192, `"budget_tokens":7168`},
		{"tiny model", []llm.Part{thought, call}, nil, 1500, `!budget_tokens`},
	} {
		s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
		r := &llm.Request{Effort: "high", Tools: tools, Messages: append([]llm.Message{llm.User("x"), {Role: llm.RoleAssistant, Parts: test.parts}, result}, test.more...)}
		if _, err := llm.Ask(t.Context(), named(s, "claude-sonnet-4-5", anthropic.Options{MaxOutput: test.most}), r); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		body := strings.ReplaceAll(string(s.Last()), `"type":"thinking"`, "")
		if not, ok := strings.CutPrefix(test.want, "!"); ok && strings.Contains(body, `"`+not+`":{`) || !ok && !strings.Contains(body, test.want) {
			t.Errorf("%s: %s", test.name, body)
		}
	}
}

// D17: a signature in several pieces is one, and goes back as it came.
func TestSignatureInPieces(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Thinking: []string{"a", "b"}, Signature: "first-second-third", SignatureInPieces: true, Text: []string{"x"}})
	m := named(s, "claude-opus-5", anthropic.Options{})
	r := &llm.Request{Effort: "auto", Messages: []llm.Message{llm.User("x")}}
	a, err := llm.Ask(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	if p := a.Message.Parts; len(p) != 2 || p[0].Text != "ab" || p[0].Signature != "anthropic:first-second-third" {
		t.Errorf("%+v", p)
	}
	r.Messages = append(r.Messages, a.Message, llm.User("y"))
	if _, err := llm.Ask(t.Context(), m, r); err != nil || !strings.Contains(string(s.Last()), `"thinking":"ab","signature":"first-second-third"`) {
		t.Errorf("%v %s", err, s.Last())
	}
}
