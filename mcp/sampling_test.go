package mcp_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestCreateMessageParamsCheck(t *testing.T) {
	text := mcp.Text("x")
	use := func(id string) mcp.Content { return &mcp.ToolUseContent{ID: id, Name: "t"} }
	result := func(id string) mcp.Content { return &mcp.ToolResultContent{ToolUseID: id} }
	user := func(blocks ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(blocks...)}
	}
	model := func(blocks ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewSamplingContent(blocks...)}
	}
	tests := []struct {
		name     string
		messages []mcp.SamplingMessage
		want     string // part of the error; empty means good
	}{
		{"nothing", nil, ""},
		{"talk", []mcp.SamplingMessage{user(text), model(text), user(text)}, ""},
		{"use and result", []mcp.SamplingMessage{user(text), model(text, use("1"), use("2")), user(result("2"), result("1")), model(text)}, ""},
		{"two rounds with one id", []mcp.SamplingMessage{model(use("1")), user(result("1")), model(use("1")), user(result("1"))}, ""},
		{"result beside text", []mcp.SamplingMessage{model(use("1")), user(result("1"), text)}, "messages[1]: a message with tool results must not have other content"},
		{"result from the assistant", []mcp.SamplingMessage{model(use("1")), model(result("1"))}, `messages[1]: tool results come from the user, not from "assistant"`},
		{"use by the user", []mcp.SamplingMessage{user(use("1"))}, "messages[0]: tool uses come from the assistant"},
		{"one result missing", []mcp.SamplingMessage{model(use("1"), use("2")), user(result("1"))}, `messages[1]: the tool use "2" of the previous message has no result`},
		{"talk instead of a result", []mcp.SamplingMessage{model(use("1")), user(text)}, `the tool use "1" of the previous message has no result`},
		{"result too late", []mcp.SamplingMessage{model(use("1")), model(text), user(result("1"))}, `messages[1]: the tool use "1"`},
		{"result of nothing", []mcp.SamplingMessage{user(result("1"))}, `messages[0].content[0]: the previous message has no unanswered tool use with the id "1"`},
		{"result twice", []mcp.SamplingMessage{model(use("1")), user(result("1"), result("1"))}, `messages[1].content[1]: the previous message has no unanswered tool use`},
		{"one id twice", []mcp.SamplingMessage{model(use("1"), use("1")), user(result("1"))}, `messages[0]: two tool uses have the id "1"`},
		{"open at the end", []mcp.SamplingMessage{model(use("1"))}, `the tool use "1" of the last message has no result`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := (&mcp.CreateMessageParams{Messages: tt.messages}).Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if err := (&mcp.CreateMessageParams{ToolChoice: &mcp.ToolChoice{Mode: "maybe"}}).Check(); err == nil {
		t.Error("an unknown tool choice was taken")
	}
}

func TestToolUseAlwaysHasInput(t *testing.T) {
	raw, err := mcp.Marshal(mcp.Contents{&mcp.ToolUseContent{ID: "i", Name: "n"}})
	if want := `[{"type":"tool_use","id":"i","name":"n","input":{}}]`; err != nil || string(raw) != want {
		t.Errorf("got %s %v, want %s", raw, err, want)
	}
}

func TestBlocksAreTypedOutsideAListToo(t *testing.T) {
	for _, c := range []mcp.Content{
		&mcp.TextContent{}, &mcp.ImageContent{}, &mcp.AudioContent{}, &mcp.ResourceLink{}, &mcp.EmbeddedResource{},
		&mcp.ToolUseContent{}, &mcp.ToolResultContent{}, &mcp.UnknownContent{Type: "x", Raw: json.RawMessage(`{"type":"x"}`)},
	} {
		for _, v := range []any{c, reflect.ValueOf(c).Elem().Interface()} {
			ours, err := mcp.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(ours), `{"type":"`+c.ContentType()+`"`) || !sameJSON(t, ours, theirs) {
				t.Errorf("%T: %s and %s", v, ours, theirs)
			}
		}
	}
}
