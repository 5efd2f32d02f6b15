package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func caps(t *testing.T, s string) *mcp.ClientCapabilities {
	t.Helper()
	if s == "" {
		return nil
	}
	c := new(mcp.ClientCapabilities)
	if err := mcp.Unmarshal([]byte(s), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCovers(t *testing.T) {
	tests := []struct {
		have, need string
		want       bool
	}{
		{``, ``, true},
		{``, `{}`, true},
		{``, `{"roots":{}}`, false},
		{`{}`, `{"elicitation":{}}`, false},
		{`{"elicitation":{}}`, `{"elicitation":{}}`, true},
		{`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, true},
		{`{"elicitation":{}}`, `{"elicitation":{"url":{}}}`, false},
		{`{"elicitation":{"form":{}}}`, `{"elicitation":{}}`, true},
		{`{"elicitation":{"url":{}}}`, `{"elicitation":{}}`, false},
		{`{"elicitation":{"url":{}}}`, `{"elicitation":{"url":{}}}`, true},
		{`{"elicitation":{"form":{},"url":{}}}`, `{"elicitation":{"form":{},"url":{}}}`, true},
		{`{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{},"url":{}}}`, false},
		{`{"sampling":{}}`, `{"sampling":{}}`, true},
		{`{"sampling":{}}`, `{"sampling":{"tools":{}}}`, false},
		{`{"sampling":{"tools":{}}}`, `{"sampling":{"context":{}}}`, false},
		{`{"sampling":{"tools":{},"context":{}}}`, `{"sampling":{"tools":{}}}`, true},
		{`{"roots":{}}`, `{"roots":{"listChanged":true}}`, true},
		{`{"extensions":{"a/b":{}}}`, `{"extensions":{"a/b":{}}}`, true},
		{`{"extensions":{"a/b":{}}}`, `{"extensions":{"a/c":{}}}`, false},
		{`{"experimental":{"x":{}}}`, `{"experimental":{"y":{}}}`, false},
		{`{}`, `{"tasks":{}}`, false},
	}
	for _, tt := range tests {
		if got := caps(t, tt.have).Covers(caps(t, tt.need)); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.have, tt.need, got)
		}
	}
}

func TestCanAnswer(t *testing.T) {
	tests := []struct {
		name, method, params, have string
		need, text                 string // empty means that it can
	}{
		{"form", mcp.MethodElicit, `{"message":"?"}`, `{"elicitation":{}}`, "", ""},
		{"form, named", mcp.MethodElicit, `{"mode":"form"}`, `{"elicitation":{"form":{}}}`, "", ""},
		{"form, undeclared", mcp.MethodElicit, `{}`, ``, `{"elicitation":{}}`,
			"this call needs the client to ask its user to fill in a form, but the client has not declared the capability elicitation"},
		{"page", mcp.MethodElicit, `{"mode":"url"}`, `{"elicitation":{"url":{}}}`, "", ""},
		{"page, forms only", mcp.MethodElicit, `{"mode":"url"}`, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`,
			"this call needs the client to ask its user to open a web page, but the client has not declared the capability elicitation.url"},
		{"sampling", mcp.MethodCreateMessage, `{"tools":null,"includeContext":"none"}`, `{"sampling":{}}`, "", ""},
		{"sampling with tools", mcp.MethodCreateMessage, `{"tools":[]}`, `{"sampling":{}}`, `{"sampling":{"tools":{}}}`,
			"this call needs the client to generate a message with its model, but the client has not declared the capability sampling.tools"},
		{"sampling with a tool choice", mcp.MethodCreateMessage, `{"toolChoice":{}}`, `{"sampling":{"tools":{}}}`, "", ""},
		{"sampling with context", mcp.MethodCreateMessage, `{"includeContext":"allServers"}`, `{"sampling":{"tools":{}}}`, `{"sampling":{"context":{}}}`,
			"this call needs the client to generate a message with its model, but the client has not declared the capability sampling.context"},
		{"roots", mcp.MethodRootsList, ``, `{"roots":{}}`, "", ""},
		{"roots, undeclared", mcp.MethodRootsList, ``, `{"sampling":{}}`, `{"roots":{}}`,
			"this call needs the client to list its roots, but the client has not declared the capability roots"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			caller := mcp.Caller{Capabilities: caps(t, tt.have)}
			err := caller.CanHandle(mcp.InputRequest{Method: tt.method, Params: json.RawMessage(tt.params)})
			if tt.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e, ok := errors.AsType[*mcp.Error](err)
			if !ok || e.Code != mcp.CodeMissingCapability || e.Message != tt.text {
				t.Fatalf("got %v", err)
			}
			if want := `{"requiredCapabilities":` + tt.need + `}`; string(e.Data) != want {
				t.Errorf("data %s, want %s", e.Data, want)
			}
		})
	}
	err := mcp.Caller{}.CanHandle(mcp.InputRequest{Method: "tools/list"})
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeInternal {
		t.Errorf("a method that is no question: %v", err)
	}
}

func TestQuestions(t *testing.T) {
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: "m", RequestedSchema: objectSchema})
	if err != nil || q.Method != mcp.MethodElicit || string(q.Params) != `{"message":"m","requestedSchema":{"type":"object"}}` {
		t.Errorf("%+v %v", q, err)
	}
	q, err = mcp.SamplingRequest(&mcp.CreateMessageParams{MaxTokens: 5})
	if err != nil || q.Method != mcp.MethodCreateMessage || string(q.Params) != `{"messages":[],"maxTokens":5}` {
		t.Errorf("%+v %v", q, err)
	}
	if _, err := mcp.ElicitRequest(&mcp.ElicitParams{RequestedSchema: json.RawMessage(`{`)}); err == nil {
		t.Error("a schema that is not JSON was taken")
	}
	if raw, err := mcp.Marshal(mcp.RootsRequest()); err != nil || string(raw) != `{"method":"roots/list"}` {
		t.Errorf("%s %v", raw, err)
	}
}

// Ask refuses before it asks: a client must never see a question it cannot
// answer.
func TestAskChecksTheCaller(t *testing.T) {
	c := &mcp.Call{Caller: mcp.Caller{Capabilities: caps(t, `{"elicitation":{}}`)}}
	_, err := c.Ask("k", mcp.InputRequest{Method: mcp.MethodElicit})
	if need, ok := errors.AsType[*mcp.InputRequired](err); !ok || len(need.Requests) != 1 {
		t.Errorf("got %v", err)
	}
	_, err = c.Ask("k", mcp.RootsRequest())
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeMissingCapability {
		t.Errorf("got %v", err)
	}
}

// L43: the text of InputRequired tells the developer of a handler, who sees it
// only if the handler did not return the error unchanged, what to do.
func TestInputRequiredSaysHowToReturnIt(t *testing.T) {
	text := (&mcp.InputRequired{}).Error()
	if !strings.Contains(text, "unchanged") || !strings.Contains(text, "%w") {
		t.Errorf("the error reads %q", text)
	}
}
