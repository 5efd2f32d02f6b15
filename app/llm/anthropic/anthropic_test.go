package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func model(s *llmtest.Server) *anthropic.Model {
	return anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: llmtest.Key, BaseURL: s.URL, Client: s.Client()})
}

var tools = []llm.Tool{
	{Name: "calc__add", Description: "Adds.", Schema: llm.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)},
	{Name: "odata__list", Description: "Lists.", Schema: llm.RawMessage(`{"oneOf":[{"properties":{"$top":{"type":"integer"}},"required":["$top"]},{"properties":{"id":{"type":"string"}},"required":["id"]}]}`)},
}

// A whole conversation: thinking with a signature, parallel calls, results with
// an image, and a second answer that is sent everything as it was.
func TestConversation(t *testing.T) {
	s := llmtest.New(t,
		llmtest.Turn{
			Thinking: []string{"Two ", "calls."}, Signature: "EqQBCgIYAhIM", Redacted: "EmwKAhgB",
			Text: []string{"Let me", " see."},
			Calls: []llm.ToolCall{
				{ID: "toolu_01", Name: "calc__add", Arguments: llm.RawMessage(`{"a": 2, "b": 3}`)},
				{ID: "toolu_02", Name: "odata__list", Arguments: llm.RawMessage(`{"top": 5}`)},
			},
			Usage: llm.Usage{Input: 20, Output: 30, CacheRead: 400, CacheWrite: 5},
		},
		llmtest.Turn{Text: []string{"5 ✓"}},
	)
	m := model(s)
	r := &llm.Request{System: "Be brief.", Tools: tools, Messages: []llm.Message{llm.User("2+3?")}}
	first, err := llm.Ask(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		{Kind: llm.PartThinking, Text: "Two calls.", Signature: "anthropic:EqQBCgIYAhIM"},
		{Kind: llm.PartThinking, Signature: "anthropic-redacted:EmwKAhgB"},
		llm.Text("Let me see."),
		{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "toolu_01", Name: "calc__add", Arguments: llm.RawMessage(`{"a": 2, "b": 3}`)}},
		{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "toolu_02", Name: "odata__list", Arguments: llm.RawMessage(`{"$top":5}`)}},
	}}
	if !reflect.DeepEqual(first.Message, want) {
		t.Errorf("message:\n got %+v\nwant %+v", show(first.Message), show(want))
	}
	if first.Stop != llm.StopToolCalls || first.Usage != (llm.Usage{Input: 20, Output: 30, CacheRead: 400, CacheWrite: 5}) {
		t.Errorf("stop %q, usage %+v", first.Stop, first.Usage)
	}

	r.Messages = append(r.Messages, first.Message, llm.Results(
		llm.ToolResult{CallID: "toolu_02", Parts: []llm.Part{{Kind: llm.PartImage, MIME: "image/png", Data: []byte("png")}}, IsError: true},
		llm.TextResult("toolu_01", "5"),
	))
	second, err := llm.Ask(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	if second.Message.Text() != "5 ✓" || second.Stop != llm.StopEnd {
		t.Errorf("second: %+v", second)
	}
	var sent struct {
		Messages []struct {
			Content []map[string]any `json:"content"`
		} `json:"messages"`
		System []map[string]any `json:"system"`
	}
	if err := json.Unmarshal(s.Last(), &sent); err != nil {
		t.Fatal(err)
	}
	back := sent.Messages[1].Content
	if back[0]["thinking"] != "Two calls." || back[0]["signature"] != "EqQBCgIYAhIM" || back[1]["data"] != "EmwKAhgB" {
		t.Errorf("thinking did not come back as it was: %v", back[:2])
	}
	results := sent.Messages[2].Content
	if results[0]["tool_use_id"] != "toolu_01" || results[1]["is_error"] != true {
		t.Errorf("results: %v", results)
	}
	if sent.System[0]["cache_control"] == nil || results[1]["cache_control"] == nil {
		t.Errorf("nothing is marked for the cache: %s", s.Last())
	}
}

func show(m llm.Message) string {
	raw, _ := json.MarshalIndent(m, "", " ")
	return string(raw)
}

// The events of an answer, in order.
func TestEvents(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"a", "b"}, Calls: []llm.ToolCall{{ID: "toolu_1", Name: "x", Arguments: llm.RawMessage(`{"q":"0123456789"}`)}}, Usage: llm.Usage{Input: 1, Output: 2}})
	var kinds []string
	var partial string
	for e, err := range model(s).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("x")}, Tools: []llm.Tool{{Name: "x"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == llm.EventCallDelta {
			partial += e.Text
			if len(kinds) > 0 && kinds[len(kinds)-1] == string(e.Kind) {
				continue
			}
		}
		kinds = append(kinds, string(e.Kind))
	}
	if got, want := strings.Join(kinds, " "), "text text tool_call_start tool_call_delta tool_call usage done"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if partial != `{"q":"0123456789"}` {
		t.Errorf("partial: %s", partial)
	}
}

func TestStops(t *testing.T) {
	for _, test := range []struct {
		turn llmtest.Turn
		want llm.StopReason
	}{
		{llmtest.Turn{Text: []string{"x"}}, llm.StopEnd},
		{llmtest.Turn{Text: []string{"x"}, Stop: llm.StopLength}, llm.StopLength},
		{llmtest.Turn{Text: []string{"x"}, Stop: llm.StopStop}, llm.StopStop},
		{llmtest.Turn{Refusal: "I cannot help with that."}, llm.StopRefusal},
	} {
		a, err := llm.Ask(t.Context(), model(llmtest.New(t, test.turn)), &llm.Request{Messages: []llm.Message{llm.User("x")}})
		if err != nil || a.Stop != test.want {
			t.Errorf("%+v: %q, %v", test.turn, a.Stop, err)
		}
	}
}

// A call that was cut off by the limit is reported, and cannot be run.
func TestCutArguments(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Stop: llm.StopLength, Calls: []llm.ToolCall{{ID: "toolu_1", Name: "x", Arguments: llm.RawMessage(`{"text":"abc`)}}})
	a, err := llm.Ask(t.Context(), model(s), &llm.Request{Messages: []llm.Message{llm.User("x")}, Tools: []llm.Tool{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := a.Message.Calls()
	if len(calls) != 1 || calls[0].Problem == "" || string(calls[0].Arguments) != "{}" || a.Stop != llm.StopLength {
		t.Errorf("%+v", a)
	}
	// And the conversation goes on.
	r := &llm.Request{Tools: []llm.Tool{{Name: "x"}}, Messages: []llm.Message{llm.User("x"), a.Message, llm.Results(llm.TextResult("toolu_1", calls[0].Problem))}}
	if _, err := llm.Ask(t.Context(), model(s), r); err != nil {
		t.Error(err)
	}
}

func TestMidStream(t *testing.T) {
	for name, test := range map[string]struct {
		turn llmtest.Turn
		kind llm.ErrorKind
	}{
		"error": {llmtest.Turn{Text: []string{"so"}, Fail: "Overloaded"}, llm.ErrOverloaded},
		"cut":   {llmtest.Turn{Text: []string{"so"}, Cut: true}, llm.ErrNetwork},
	} {
		s := llmtest.New(t, test.turn)
		a, err := llm.Ask(t.Context(), model(s), &llm.Request{Messages: []llm.Message{llm.User("x")}})
		if llm.KindOf(err) != test.kind || a.Message.Text() != "so" || len(s.Requests()) != 1 {
			t.Errorf("%s: %v, %q, %d requests", name, err, a.Message.Text(), len(s.Requests()))
		}
	}
}

// Cancelling ends the request at the provider.
func TestCancel(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"so"}, Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := func() (llm.Answer, error) {
		var last error
		for e, err := range model(s).Stream(ctx, &llm.Request{Messages: []llm.Message{llm.User("x")}}) {
			if e.Kind == llm.EventText {
				cancel()
			}
			last = err
		}
		return llm.Answer{}, last
	}()
	if llm.KindOf(err) != llm.ErrCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-s.Gone()

	for range model(s).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("x")}}) {
		break // leaving the loop ends it too
	}
	<-s.Gone()
	cancel()
}

// The key is nowhere to be seen, even if the provider repeats it.
func TestKeyNeverShown(t *testing.T) {
	const key = "sk-ant-very-secret-000"
	s := llmtest.New(t, llmtest.Turn{})
	m := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: key, BaseURL: s.URL, Client: s.Client()})
	_, err := llm.Ask(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("x")}})
	if llm.KindOf(err) != llm.ErrAuth || !strings.Contains(err.Error(), "Check the API key") {
		t.Errorf("got %v", err)
	}
	s = llmtest.New(t, llmtest.Turn{Status: 400, Body: `{"error":{"type":"invalid_request_error","message":"bad header x-api-key: ` + llmtest.Key + `"}}`})
	_, err = llm.Ask(t.Context(), model(s), &llm.Request{Messages: []llm.Message{llm.User("x")}})
	if err == nil || strings.Contains(err.Error(), llmtest.Key) || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("got %v", err)
	}
}

func TestEffort(t *testing.T) {
	for _, test := range []struct{ model, effort, want string }{
		{"claude-sonnet-4-5-20250929", "high", `"thinking":{"type":"enabled","budget_tokens":24576}`},
		{"claude-3-7-sonnet-latest", "low", `"thinking":{"type":"enabled","budget_tokens":2048}`},
		{"claude-opus-4-6", "high", `"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`},
		{"claude-opus-5", "auto", `"thinking":{"type":"adaptive","display":"summarized"}`},
		{"claude-opus-5", "auto", `!output_config`},
		{"claude-sonnet-4-5", "auto", `"budget_tokens":8192`},
		{"claude-3-5-haiku-latest", "auto", `!thinking`},
		{"claude-opus-5", "low", `"output_config":{"effort":"low"}`},
		{"claude-opus-4-6", "none", `"thinking":{"type":"disabled"}`},
		{"claude-3-5-haiku-latest", "high", `!thinking`},
		{"claude-sonnet-4-5", "", `!thinking`},
		{"claude-sonnet-4-20250514", "medium", `"budget_tokens":8192`},
	} {
		s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
		m := anthropic.New(test.model, &anthropic.Options{Key: llmtest.Key, BaseURL: s.URL, Client: s.Client()})
		if _, err := llm.Ask(t.Context(), m, &llm.Request{Effort: test.effort, Messages: []llm.Message{llm.User("x")}}); err != nil {
			t.Fatal(err)
		}
		body := string(s.Last())
		if not, ok := strings.CutPrefix(test.want, "!"); ok == strings.Contains(body, strings.TrimPrefix(test.want, "!")) {
			t.Errorf("%s %s: %s (want %s%s)", test.model, test.effort, body, test.want, not[:0])
		}
	}
}

func TestCacheMarks(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"x"}})
	var parts []llm.Part
	for range 6 {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: "long", CacheMark: true})
	}
	r := &llm.Request{System: "s", Tools: tools, Messages: []llm.Message{{Role: llm.RoleUser, Parts: parts}}}
	if _, err := llm.Ask(t.Context(), model(s), r); err != nil {
		t.Fatal(err) // the server refuses more than four
	}
	if n := strings.Count(string(s.Last()), "cache_control"); n != 4 {
		t.Errorf("%d marks in %s", n, s.Last())
	}
}
