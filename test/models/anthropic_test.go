package models

import (
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/tenon-mcp/tenon/app/llm"
	ours "github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

// anthropicSDK asks with the SDK and tells the answer in our words.
func anthropicSDK(t *testing.T, o ...option.RequestOption) (llm.Answer, error) {
	t.Helper()
	client := anthropic.NewClient(append(o, option.WithMaxRetries(0), option.WithAPIKey(llmtest.Key))...)
	stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
		Tools:    []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "add", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"a": map[string]any{"type": "number"}}}}}},
	})
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		return llm.Answer{}, err
	}
	a := llm.Answer{
		Stop:  llm.StopReason(m.StopReason),
		Usage: llm.Usage{Input: int(m.Usage.InputTokens), Output: int(m.Usage.OutputTokens), CacheRead: int(m.Usage.CacheReadInputTokens), CacheWrite: int(m.Usage.CacheCreationInputTokens)},
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			a.Message.Parts = append(a.Message.Parts, llm.Text(b.Text))
		case "thinking":
			a.Message.Parts = append(a.Message.Parts, llm.Part{Kind: llm.PartThinking, Text: b.Thinking, Signature: "anthropic:" + b.Signature})
		case "redacted_thinking":
			a.Message.Parts = append(a.Message.Parts, llm.Part{Kind: llm.PartThinking, Signature: "anthropic-redacted:" + b.Data})
		case "tool_use":
			a.Message.Parts = append(a.Message.Parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: llm.RawMessage(b.Input)}})
		}
	}
	return a, nil
}

func anthropicOurs(t *testing.T, o *ours.Options) (llm.Answer, error) {
	o.Key, o.Attempts = llmtest.Key, 1
	return llm.Ask(t.Context(), ours.New("claude-sonnet-4-5", o), &llm.Request{Messages: []llm.Message{llm.User("hi")}})
}

var anthropicStops = map[llm.StopReason]llm.StopReason{"end_turn": llm.StopEnd, "tool_use": llm.StopToolCalls, "max_tokens": llm.StopLength, "refusal": llm.StopRefusal, "stop_sequence": llm.StopStop}

// The SDK understands our provider, and finds what our wire finds.
func TestAnthropicServer(t *testing.T) {
	for name, turn := range turns {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, turn)
			theirs, err1 := anthropicSDK(t, option.WithBaseURL(s.URL), option.WithHTTPClient(s.Client()))
			mine, err2 := anthropicOurs(t, &ours.Options{BaseURL: s.URL, Client: s.Client()})
			theirs.Stop = anthropicStops[theirs.Stop]
			same(t, turn, theirs, err1, mine, err2)
		})
	}
}

// The same recorded streams mean the same to both.
func TestAnthropicStreams(t *testing.T) {
	for name, stream := range recorded(t, "anthropic", "*.sse") {
		t.Run(name, func(t *testing.T) {
			theirs, err1 := anthropicSDK(t, option.WithHTTPClient(llmtest.Bytes(stream, 0)))
			mine, err2 := anthropicOurs(t, &ours.Options{Client: llmtest.Bytes(stream, 0)})
			theirs.Stop = anthropicStops[theirs.Stop]
			same(t, llmtest.Turn{}, theirs, err1, mine, err2)
		})
	}
}

func TestAnthropicErrors(t *testing.T) {
	for _, status := range []int{400, 401, 404, 429, 500, 529} {
		s := llmtest.New(t, llmtest.Turn{Status: status})
		_, err := anthropicSDK(t, option.WithBaseURL(s.URL), option.WithHTTPClient(s.Client()))
		var api *anthropic.Error
		if !errors.As(err, &api) || api.StatusCode != status {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// What our wire sends is what the SDK would send.
func TestAnthropicRequests(t *testing.T) {
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, llmtest.Turn{Text: []string{"ok"}})
			m := ours.New("claude-opus-4-6", &ours.Options{Key: llmtest.Key, BaseURL: s.URL, Client: s.Client()})
			if _, err := llm.Ask(t.Context(), m, r); err != nil {
				t.Fatal(err)
			}
			keeps[anthropic.MessageNewParams](t, s.Last())
		})
	}
}
