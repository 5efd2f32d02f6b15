package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

const secret = "correct-horse-battery"

func guardResults(o *ResultOptions, h mcp.HandlerFunc) mcp.Handler { return GuardResults(o)(h) }

// TestLongResultIsAnErrorOfTheTool names the size and the limit.
func TestLongResultIsAnErrorOfTheTool(t *testing.T) {
	long := json.RawMessage(`{"text":"` + strings.Repeat("x", 2000) + `"}`)
	h := guardResults(&ResultOptions{MaxBytes: 1000}, func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{Body: long}, nil })
	res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
	var got mcp.CallToolResult
	if err != nil || res.Decode(&got) != nil || !got.IsError || !strings.Contains(string(res.Body), "2011 bytes") || !strings.Contains(string(res.Body), "1000") {
		t.Errorf("tools/call: %s %v", res.Body, err)
	}
	if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead}); err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("resources/read: %v", err)
	}
	if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
		t.Errorf("a list has limits of its own: %v", err)
	}
}

// TestSecretsLeaveByNoWay looks at everything that a server can send.
func TestSecretsLeaveByNoWay(t *testing.T) {
	o := &ResultOptions{Secrets: redact.New(secret)}
	quoted := `"it is ` + secret + `."`
	for what, body := range map[string]string{
		"text":       `{"content":[{"type":"text","text":` + quoted + `}]}`,
		"structured": `{"structuredContent":{"deep":[{"a":` + quoted + `}]},"content":[]}`,
		"resource":   `{"contents":[{"uri":"a:b","text":` + quoted + `}]}`,
		"prompt":     `{"messages":[{"role":"user","content":{"type":"text","text":` + quoted + `}}]}`,
		"list":       `{"tools":[{"name":"a","description":` + quoted + `}]}`,
	} {
		method := map[string]string{"list": mcp.MethodToolsList}[what]
		h := guardResults(o, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
			c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"data":` + quoted + `}`), Meta: mcp.Meta{"a": json.RawMessage(quoted)}})
			return mcp.Result{Body: json.RawMessage(body), Meta: mcp.Meta{"a": json.RawMessage(quoted)}}, nil
		})
		var notified mcp.Notification
		for range 2 { // the second list comes from a cache
			res, err := h.Serve(t.Context(), &mcp.Call{Method: method, OnNotification: func(n mcp.Notification) { notified = n }})
			if err != nil {
				t.Fatal(err)
			}
			all := string(res.Body) + string(res.Meta["a"]) + string(notified.Params) + string(notified.Meta["a"])
			if strings.Contains(all, secret) || strings.Count(all, `"it is [redacted]."`) != 4 || !json.Valid(res.Body) {
				t.Errorf("%s: %s", what, all)
			}
		}
	}
	need := &mcp.InputRequired{State: secret, Requests: map[string]mcp.InputRequest{"q": {Method: "elicitation/create", Params: json.RawMessage(`{"message":` + quoted + `}`)}}}
	for what, fails := range map[string]error{
		"error": &mcp.Error{Code: 7, Message: "it is " + secret, Data: json.RawMessage(quoted)},
		"other": errors.New("dial postgres://u:" + secret + "@db"),
		"input": need,
	} {
		h := guardResults(o, func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, fails })
		_, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
		text := err.Error()
		if e, ok := errors.AsType[*mcp.Error](err); ok {
			text += string(e.Data)
		}
		if e, ok := errors.AsType[*mcp.InputRequired](err); ok {
			text += string(e.Requests["q"].Params)
			if e.State != secret {
				t.Error("the state is changed, and the server cannot go on")
			}
		}
		if strings.Contains(text, secret) || !strings.Contains(text, redact.Mark) {
			t.Errorf("%s: %s", what, text)
		}
	}
	if !strings.Contains(string(need.Requests["q"].Params), secret) {
		t.Error("the server's own map is changed")
	}
}

// TestBinaryContentStays does not touch Base64, which would be broken.
func TestBinaryContentStays(t *testing.T) {
	const blob = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5" // the secret
	body := `{"content":[{"type":"image","data":"` + blob + `","mimeType":"image/png"},{"type":"audio","data":"` + blob + `"},{"type":"resource","resource":{"uri":"a:b","blob":"` + blob + `"}}]}`
	h := guardResults(&ResultOptions{Secrets: redact.New(secret)}, func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(body)}, nil
	})
	res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
	if err != nil || string(res.Body) != body {
		t.Errorf("%s %v", res.Body, err)
	}
}
