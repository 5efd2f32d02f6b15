package models

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

var turns = map[string]llmtest.Turn{
	"text":     {Text: []string{"Hel", "lo, ", "🌍"}, Usage: llm.Usage{Input: 5, Output: 7, CacheRead: 11, CacheWrite: 2}},
	"thinking": {Thinking: []string{"a", "b"}, Signature: "c2ln", Text: []string{"x"}},
	"redacted": {Thinking: []string{"a"}, Signature: "c2ln", Redacted: "cmVk", Text: []string{"x"}},
	"calls": {Text: []string{"x"}, Calls: []llm.ToolCall{
		{ID: "call_1", Name: "add", Arguments: llm.RawMessage(`{"a":1,"b":"zwölf"}`)},
		{ID: "call_2", Name: "sub", Arguments: llm.RawMessage(`{}`)},
	}},
	"length":  {Text: []string{"x"}, Stop: llm.StopLength},
	"refused": {Refusal: "I cannot help with that."},
	"fails":   {Text: []string{"x"}, Fail: "something broke"},
}

// requests are what hosts send, in every form that there is.
var requests = map[string]*llm.Request{
	"plain":  {System: "Be brief.", Messages: []llm.Message{llm.User("hi")}, MaxTokens: 50, Temperature: new(0.5)},
	"effort": {Messages: []llm.Message{llm.User("hi")}, Effort: "high"},
	"tools": {
		Messages: []llm.Message{
			llm.User("hi"),
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.PartThinking, Text: "hm", Signature: "anthropic:c2ln"},
				{Kind: llm.PartThinking, Signature: "anthropic-redacted:cmVk"},
				{Kind: llm.PartThinking, Text: "hm", Signature: `responses:{"encrypted_content":"ZW5j","id":"rs_1","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning"}`},
				llm.Text("Let me see."),
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "add", Arguments: llm.RawMessage(`{"a":1}`)}},
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c2", Name: "look", Arguments: llm.RawMessage(`{}`)}},
			}},
			llm.Results(
				llm.ToolResult{CallID: "c1", Parts: []llm.Part{llm.Text("failed")}, IsError: true},
				llm.ToolResult{CallID: "c2", Parts: []llm.Part{llm.Text("see"), {Kind: llm.PartImage, MIME: "image/png", Data: []byte("png")}}},
			),
			{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text("and these"),
				{Kind: llm.PartImage, MIME: "image/jpeg", Data: []byte("jpg")},
				{Kind: llm.PartAudio, MIME: "audio/wav", Data: []byte("wav")},
				{Kind: llm.PartDocument, MIME: "application/pdf", Data: []byte("pdf"), Text: "a.pdf"},
				{Kind: llm.PartDocument, MIME: "text/plain", Data: []byte("words"), Text: "a.txt", CacheMark: true},
			}},
		},
		Tools: []llm.Tool{
			{Name: "add", Description: "Adds.", Schema: llm.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"$b":{"type":"string","format":"uri"}},"required":["a"],"$defs":{"n":{"type":"number"}},"additionalProperties":false}`)},
			{Name: "look"},
		},
	},
	"must":  {Messages: []llm.Message{llm.User("hi")}, Tools: []llm.Tool{{Name: "add"}}, ToolChoice: "required"},
	"this":  {Messages: []llm.Message{llm.User("hi")}, Tools: []llm.Tool{{Name: "add"}}, ToolChoice: "add"},
	"stops": {Messages: []llm.Message{llm.User("hi")}, Stop: []string{"END"}},
}

// recorded are the streams that the tests of a wire use.
func recorded(t *testing.T, wire, pattern string) map[string][]byte {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", "app", "llm", wire, "testdata", pattern))
	if len(files) == 0 {
		t.Fatalf("no recorded streams of %s: %s", wire, pattern)
	}
	all := map[string][]byte{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = raw
	}
	return all
}

// same holds two answers to each other, and to what the provider was told to
// say.
func same(t *testing.T, turn llmtest.Turn, theirs llm.Answer, err1 error, mine llm.Answer, err2 error) {
	t.Helper()
	if (err1 == nil) != (err2 == nil) {
		t.Fatalf("the SDK says %v, we say %v", err1, err2)
	}
	if err1 != nil {
		if turn.Fail == "" && len(turn.Text) > 0 {
			t.Fatalf("both fail: %v", err1)
		}
		return
	}
	if turn.Fail != "" {
		t.Fatal("nobody noticed the error")
	}
	theirs.Message.Role = llm.RoleAssistant
	for _, a := range []*llm.Answer{&theirs, &mine} {
		for _, p := range a.Message.Parts {
			if p.Call != nil && len(p.Call.Arguments) == 0 {
				p.Call.Arguments = llm.RawMessage("{}")
			}
		}
	}
	a, _ := json.MarshalIndent(theirs, "", " ")
	b, _ := json.MarshalIndent(mine, "", " ")
	if string(a) != string(b) {
		t.Errorf("the SDK found\n%s\nwe found\n%s", a, b)
	}
	if turn.Text != nil && (turn.Usage != (llm.Usage{}) && mine.Usage != turn.Usage || len(mine.Message.Calls()) != len(turn.Calls)) {
		t.Errorf("said %+v, found %s", turn, b)
	}
}

// keeps decodes a request into the SDK's type and encodes it again: whatever is
// gone was no part of the API.
func keeps[T any](t *testing.T, body []byte) {
	t.Helper()
	var params T
	if err := json.Unmarshal(body, &params); err != nil {
		t.Fatalf("the SDK cannot read %s: %v", body, err)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var was, now map[string]any
	if err := json.Unmarshal(body, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &now); err != nil {
		t.Fatal(err)
	}
	if was["stream"] != true {
		t.Error("no stream was asked for")
	}
	delete(was, "stream") // the SDKs add it when they send
	for _, lost := range missing("", was, now) {
		t.Errorf("%s\nin  %s\nout %s", lost, body, again)
	}
}

// sends holds one member of a request to what the SDK writes.
func sends(t *testing.T, body []byte, name string, theirs any) {
	t.Helper()
	var was map[string]any
	if err := json.Unmarshal(body, &was); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(was[name], want) {
		t.Errorf("%s is %v, the SDK sends %s", name, was[name], raw)
	}
}

// missing are the places of a that b does not have or has otherwise.
func missing(path string, a, b any) []string {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok {
			return []string{path + " is gone"}
		}
		var all []string
		for k, v := range a {
			if _, ok := other[k]; !ok && empty(v) {
				continue
			}
			all = append(all, missing(path+"."+k, v, other[k])...)
		}
		slices.Sort(all)
		return all
	case []any:
		other, ok := b.([]any)
		if !ok || len(other) != len(a) {
			return []string{path + " is gone or shorter"}
		}
		var all []string
		for i := range a {
			all = append(all, missing(fmt.Sprintf("%s[%d]", path, i), a[i], other[i])...)
		}
		return all
	}
	if !reflect.DeepEqual(a, b) {
		return []string{fmt.Sprintf("%s was %v and is %v", path, a, b)}
	}
	return nil
}

// empty is what an encoder may leave out.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
