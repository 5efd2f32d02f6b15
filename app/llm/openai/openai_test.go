package openai_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/app/llm/openai"
)

func model(s *llmtest.Server, api openai.API) *openai.Model {
	return openai.New("gpt-5", &openai.Options{Key: llmtest.Key, BaseURL: s.V1(), Client: s.Client(), API: api, Dialect: openai.OpenAI})
}

var apis = []openai.API{openai.Chat, openai.Responses}

var tools = []llm.Tool{
	{Name: "add", Description: strings.Repeat("A long description. ", 100), Schema: llm.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`)},
	{Name: "none"},
	{Name: "pick", Schema: llm.RawMessage(`{"anyOf":[{"properties":{"id":{"type":"string"}},"required":["id"]},{"properties":{"names":{"type":"array"}},"required":["names"]}]}`)},
}

// A whole conversation over both wires: thinking, parallel calls, results with
// an image, a call that was never answered, and everything given back.
func TestConversation(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			s := llmtest.New(t,
				llmtest.Turn{
					Thinking: []string{"Two ", "calls."}, Signature: "gAAAAA", Text: []string{"Let me", " see."},
					Calls: []llm.ToolCall{
						{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{"a": 2}`)},
						{ID: "call_2", Name: "none", Arguments: llm.RawMessage(`{}`)},
						{ID: "call_3", Name: "none"},
					},
					Usage: llm.Usage{Input: 20, Output: 30, CacheRead: 400},
				},
				llmtest.Turn{Text: []string{"5 ✓"}},
			)
			m := model(s, api)
			r := &llm.Request{System: "Be brief.", Tools: tools, Messages: []llm.Message{llm.User("2+3?")}}
			first, err := llm.Ask(t.Context(), m, r)
			if err != nil {
				t.Fatal(err)
			}
			signature := map[openai.API]string{
				openai.Chat:      "chat-reasoning-content:",
				openai.Responses: `responses:{"encrypted_content":"gAAAAA","id":"rs_01","summary":[{"text":"Two calls.","type":"summary_text"}],"type":"reasoning"}`,
			}[api]
			want := []llm.Part{
				{Kind: llm.PartThinking, Text: "Two calls.", Signature: signature},
				llm.Text("Let me see."),
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{"a": 2}`)}},
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_2", Name: "none", Arguments: llm.RawMessage(`{}`)}},
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_3", Name: "none", Arguments: llm.RawMessage(`{}`)}},
			}
			if !reflect.DeepEqual(first.Message.Parts, want) {
				got, _ := json.MarshalIndent(first.Message.Parts, "", " ")
				t.Errorf("parts: %s", got)
			}
			if first.Stop != llm.StopToolCalls || first.Usage != (llm.Usage{Input: 20, Output: 30, CacheRead: 400}) {
				t.Errorf("stop %q, usage %+v", first.Stop, first.Usage)
			}
			r.Messages = append(r.Messages, first.Message, llm.Results(
				llm.ToolResult{CallID: "call_2", Parts: []llm.Part{llm.Text("here"), {Kind: llm.PartImage, MIME: "image/png", Data: []byte("png")}}},
				llm.ToolResult{CallID: "call_1", Parts: []llm.Part{llm.Text("no")}, IsError: true},
			), llm.User("go on"))
			second, err := llm.Ask(t.Context(), m, r)
			if err != nil {
				t.Fatal(err) // the server refuses what OpenAI refuses
			}
			if second.Message.Text() != "5 ✓" || second.Stop != llm.StopEnd {
				t.Errorf("second: %+v", second)
			}
			body := string(s.Last())
			for _, part := range []string{"Two calls.", "Error: no", "data:image/png;base64,cG5n", "was interrupted", "continued in the description"} {
				// The thinking of an earlier turn is sent back only where it is encrypted (D18).
				missing := part == "continued in the description" && api == openai.Responses || part == "Two calls." && api == openai.Chat
				if strings.Contains(body, part) == missing {
					t.Errorf("%q: wrong in %s", part, body)
				}
			}
		})
	}
}

func TestStops(t *testing.T) {
	for _, api := range apis {
		for _, test := range []struct {
			turn llmtest.Turn
			want llm.StopReason
		}{
			{llmtest.Turn{Text: []string{"x"}}, llm.StopEnd},
			{llmtest.Turn{Text: []string{"x"}, Stop: llm.StopLength}, llm.StopLength},
			{llmtest.Turn{Text: []string{"x"}, Stop: llm.StopRefusal}, llm.StopRefusal},
			{llmtest.Turn{Refusal: "I cannot help with that."}, llm.StopRefusal},
		} {
			a, err := llm.Ask(t.Context(), model(llmtest.New(t, test.turn), api), &llm.Request{Messages: []llm.Message{llm.User("x")}})
			if err != nil || a.Stop != test.want || a.Message.Text() == "" {
				t.Errorf("%s %+v: %+v, %v", api, test.turn, a, err)
			}
		}
	}
}

func TestMidStream(t *testing.T) {
	for _, api := range apis {
		for name, test := range map[string]struct {
			turn llmtest.Turn
			kind llm.ErrorKind
		}{
			"error": {llmtest.Turn{Text: []string{"so"}, Fail: "boom"}, llm.ErrServer},
			"cut":   {llmtest.Turn{Text: []string{"so"}, Cut: true}, llm.ErrNetwork},
		} {
			s := llmtest.New(t, test.turn)
			a, err := llm.Ask(t.Context(), model(s, api), &llm.Request{Messages: []llm.Message{llm.User("x")}})
			if llm.KindOf(err) != test.kind || a.Message.Text() != "so" || len(s.Requests()) != 1 {
				t.Errorf("%s %s: %v, %q, %d requests", api, name, err, a.Message.Text(), len(s.Requests()))
			}
		}
	}
}

func TestToolChoice(t *testing.T) {
	for _, test := range []struct {
		api       openai.API
		say, want string
	}{
		{openai.Chat, "required", `"tool_choice":"required"`},
		{openai.Chat, "add", `"tool_choice":{"function":{"name":"add"},"type":"function"}`},
		{openai.Responses, "none", `"tool_choice":"none"`},
		{openai.Responses, "add", `"tool_choice":{"name":"add","type":"function"}`},
	} {
		s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
		r := &llm.Request{Tools: tools, ToolChoice: test.say, Messages: []llm.Message{llm.User("x")}}
		if _, err := llm.Ask(t.Context(), model(s, test.api), r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(s.Last()), test.want) {
			t.Errorf("%s %s: %s", test.api, test.say, s.Last())
		}
	}
}

// Gemini refuses a call that comes back without its signature.
func TestSignatureOfCallsComesBack(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
	call := llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "1", Name: "add"}, Signature: `chat-extra-content:{"google":{"thought_signature":"CiQB"}}`}
	r := &llm.Request{Messages: []llm.Message{llm.User("x"), {Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.Results(llm.TextResult("1", "ok"))}}
	if _, err := llm.Ask(t.Context(), model(s, openai.Chat), r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(s.Last()), `"extra_content":{"google":{"thought_signature":"CiQB"}}`) {
		t.Errorf("sent %s", s.Last())
	}
	if _, err := llm.Ask(t.Context(), model(s, openai.Responses), r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(s.Last()), "CiQB") {
		t.Errorf("the other wire sent it too: %s", s.Last())
	}
}

// What a model does not take is described to it.
func TestMediaNotAccepted(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
	m := openai.New("qwen3", &openai.Options{Key: llmtest.Key, BaseURL: s.V1(), Client: s.Client(), Dialect: openai.Ollama})
	r := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
		llm.Text("look"), {Kind: llm.PartImage, MIME: "image/png", Data: []byte("1234")}, {Kind: llm.PartDocument, MIME: "text/markdown", Text: "a.md", Data: []byte("# A")},
	}}}}
	if _, err := llm.Ask(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[image, image/png, 4 bytes; it cannot be shown here]", `[document \"a.md\", text/markdown]\n# A`} {
		if !strings.Contains(string(s.Last()), want) {
			t.Errorf("no %q in %s", want, s.Last())
		}
	}
}

func TestMistralIDs(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
	m := openai.New("mistral-large", &openai.Options{Key: llmtest.Key, BaseURL: s.V1(), Client: s.Client(), Dialect: openai.Mistral})
	call := llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "toolu_01T1x1fJ34qAmk2tNTrN7Up6", Name: "add"}}
	r := &llm.Request{Messages: []llm.Message{llm.User("x"), {Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.Results(llm.TextResult("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "ok"))}}
	if _, err := llm.Ask(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Messages []struct {
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(s.Last(), &sent); err != nil {
		t.Fatal(err)
	}
	if id := sent.Messages[1].ToolCalls[0].ID; len(id) != 9 || id != sent.Messages[2].ToolCallID {
		t.Errorf("sent %s", s.Last())
	}
}

// A server that answers with the whole message at once is understood.
func TestWholeAnswer(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Status: 200, Header: map[string][]string{"Content-Type": {"application/json"}},
		Body: `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi.","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`})
	a, err := llm.Ask(t.Context(), model(s, openai.Chat), &llm.Request{Messages: []llm.Message{llm.User("x")}})
	if err != nil || a.Message.Text() != "Hi." || len(a.Message.Calls()) != 1 || a.Stop != llm.StopToolCalls || a.Usage.Output != 4 {
		t.Errorf("%+v, %v", a, err)
	}
}
