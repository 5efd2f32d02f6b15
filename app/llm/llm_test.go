package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Sessions are saved in this form: it must not change.
func TestSavedForm(t *testing.T) {
	all := []llm.Message{
		llm.User("hi"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{
			{Kind: llm.PartThinking, Text: "hm", Signature: "anthropic:x"},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "s__t", Arguments: llm.RawMessage(`{"a":[1,2]}`)}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c2", Name: "s__t", Problem: "no"}, Signature: "y"},
		}},
		llm.Results(
			llm.ToolResult{CallID: "c1", Parts: []llm.Part{{Kind: llm.PartImage, MIME: "image/png", Data: []byte{1, 2, 3}, CacheMark: true}}},
			llm.ToolResult{CallID: "c2", Parts: []llm.Part{}, IsError: true},
		),
	}
	const want = `[{"role":"user","parts":[{"kind":"text","text":"hi"}]},` +
		`{"role":"assistant","parts":[{"kind":"thinking","text":"hm","signature":"anthropic:x"},{"kind":"tool_call","call":{"id":"c1","name":"s__t","arguments":{"a":[1,2]}}},{"kind":"tool_call","call":{"id":"c2","name":"s__t","problem":"no"},"signature":"y"}]},` +
		`{"role":"tool","parts":[{"kind":"tool_result","result":{"call_id":"c1","parts":[{"kind":"image","data":"AQID","mime":"image/png","cache_mark":true}]}},{"kind":"tool_result","result":{"call_id":"c2","parts":[],"is_error":true}}]}]`
	v1, err := json.Marshal(all)
	if err != nil || string(v1) != want {
		t.Errorf("encoding/json: %s, %v", v1, err)
	}
	v2, err := jsonv2.Marshal(all)
	if err != nil || string(v2) != want {
		t.Errorf("json v2: %s, %v", v2, err)
	}
	var back1, back2 []llm.Message
	if err := errors.Join(json.Unmarshal(v1, &back1), jsonv2.Unmarshal(v2, &back2)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back1, all) || !reflect.DeepEqual(back2, all) {
		t.Errorf("it does not come back: %+v", back1)
	}
	r := &llm.Request{Messages: []llm.Message{}, Tools: []llm.Tool{{Name: "x"}}}
	if raw, _ := json.Marshal(r); string(raw) != `{"messages":[],"tools":[{"name":"x"}]}` {
		t.Errorf("request: %s", raw)
	}
}

type fake []llm.Event

func (fake) Info() llm.Info { return llm.Info{Provider: "p", Name: "n"} }
func (f fake) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, e := range f {
			if !yield(e, nil) {
				return
			}
		}
		yield(llm.Event{}, &llm.Error{Kind: llm.ErrNetwork})
	}
}

// What there was of an answer that broke off is kept, without half a call.
func TestBuilder(t *testing.T) {
	a, err := llm.Ask(t.Context(), fake{
		{Kind: llm.EventRetry, Note: "x"},
		{Kind: llm.EventThinking, Text: "a"}, {Kind: llm.EventThinking, Text: "b", Signature: "1"},
		{Kind: llm.EventThinking, Text: "c"}, {Kind: llm.EventThinking, Signature: "2"},
		{Kind: llm.EventText, Text: "d"}, {Kind: llm.EventText, Text: "e"},
		{Kind: llm.EventCallStart, Call: &llm.ToolCall{ID: "1"}},
		{Kind: llm.EventCall, Call: &llm.ToolCall{ID: "1"}},
		{Kind: llm.EventText, Text: "f"},
		{Kind: llm.EventCallStart, Call: &llm.ToolCall{ID: "2"}},
		{Kind: llm.EventUsage, Usage: llm.Usage{Input: 3}},
	}, &llm.Request{})
	want := []llm.Part{
		{Kind: llm.PartThinking, Text: "ab", Signature: "1"}, {Kind: llm.PartThinking, Text: "c", Signature: "2"}, llm.Text("de"),
		{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "1"}}, llm.Text("f"),
	}
	if llm.KindOf(err) != llm.ErrNetwork || !reflect.DeepEqual(a.Message.Parts, want) || a.Usage.Input != 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

// Errors say what to do.
func TestErrorTexts(t *testing.T) {
	for _, test := range []struct {
		e    llm.Error
		want string
	}{
		{llm.Error{Kind: llm.ErrAuth, Provider: "openai", Status: 401, Message: "no key."}, "openai: the API key was rejected: no key (HTTP 401). Check the API key and that it may use this model"},
		{llm.Error{Kind: llm.ErrRate, Provider: "x", RetryAfter: 90 * time.Second}, "x: too many requests. Try again in 1m30s"},
		{llm.Error{Kind: llm.ErrContextLength, Message: "too long"}, "the conversation is too long for this model: too long. Shorten the conversation, or choose a model with a larger context"},
		{llm.Error{Kind: llm.ErrBadRequest, Provider: "x", Status: 404, Message: "model y"}, "x: the request was rejected: model y (HTTP 404). Check the name of the model and the base URL"},
		{llm.Error{Kind: llm.ErrCanceled}, "canceled"},
		{llm.Error{Kind: "odd"}, "odd"},
	} {
		if got := test.e.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestUsage(t *testing.T) {
	u := llm.Usage{Input: 1e6, Output: 2e6, CacheRead: 1e6}
	if got := (llm.Prices{Input: 3, Output: 15, CacheRead: 0.3}).Of(u); got != 33.3 {
		t.Errorf("cost %v", got)
	}
	if got := u.Add(llm.Usage{Input: 1, Cost: 2}); got.Input != 1e6+1 || got.Cost != 2 || got.Read() != 2e6+1 {
		t.Errorf("sum %+v", got)
	}
}

func TestDescribe(t *testing.T) {
	long := llm.Describe(llm.Part{Kind: llm.PartDocument, MIME: "text/plain", Text: "n.txt", Data: []byte("words")})
	if long != "[document \"n.txt\", text/plain]\nwords" {
		t.Errorf("got %q", long)
	}
	if got := llm.Describe(llm.Part{Kind: llm.PartAudio, Data: []byte{0xff}}); !strings.Contains(got, "audio, of unknown type, 1 bytes") {
		t.Errorf("got %q", got)
	}
}

// H29: the cost of an answer grows with its length, not with its square.
func TestBuilderIsLinear(t *testing.T) {
	const deltas = 20_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var b llm.Builder
	for range deltas {
		b.Add(llm.Event{Kind: llm.EventText, Text: "a few words more, "})
	}
	m := b.Message()
	runtime.ReadMemStats(&after)
	if want := deltas * len("a few words more, "); len(m.Text()) != want {
		t.Fatalf("%d bytes, want %d", len(m.Text()), want)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 50<<20 {
		t.Errorf("%d MB were allocated for %d kB", used>>20, len(m.Text())>>10)
	}
}
