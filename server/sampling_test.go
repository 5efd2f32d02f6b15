package server_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestSample(t *testing.T) {
	s, _ := newServer(server.Options{})
	p := &mcp.CreateMessageParams{MaxTokens: 9}
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) {
		r, err := server.Sample(c, "k", p)
		if err != nil {
			return "", err
		}
		return r.Model, nil
	})
	q := questions(t, s, "t", can(nil))["k"]
	expect(t, "question", q.Method+" "+string(q.Params), `sampling/createMessage {"messages":[],"maxTokens":9}`)
	answer := func(a string) func(*mcp.Call) { return can(map[string]string{"k": a}) }
	expect(t, "answer", callTool(t, s, "t", "", answer(`{"role":"assistant","model":"m1","content":{"type":"text","text":"hi"}}`)), `…"text":"m1"`)
	refused := func(err error) func(*mcp.Call) {
		return func(c *mcp.Call) { can(nil)(c); c.Refuse("k", err) }
	}
	rejected := &mcp.Error{Code: -1, Message: "User rejected sampling request"}
	expect(t, "refused", callTool(t, s, "t", "", refused(rejected)), `{"content":[{"type":"text","text":"The client did not answer sampling/createMessage: User rejected sampling request (-1)"}],"isError":true}`)
	addText(s, "fallback", func(_ context.Context, c *mcp.Call) (string, error) {
		_, err := server.Sample(c, "k", p)
		if e, ok := errors.AsType[*server.InputError](err); ok && e.Method == mcp.MethodCreateMessage && e.Err.Error() == rejected.Error() {
			return "without a model", nil
		}
		return "", err
	})
	expect(t, "fallback", callTool(t, s, "fallback", "", refused(rejected)), `…"text":"without a model"`)
	expect(t, "no answer", callTool(t, s, "t", "", answer(`7`)), `…-32602 response to "k": `)
	expect(t, "no capability", callTool(t, s, "t", ""), `…{"requiredCapabilities":{"sampling":{}}}`)
	p.ToolChoice = &mcp.ToolChoice{Mode: "always"}
	expect(t, "bad", callTool(t, s, "t", "", can(nil)), `…-32602 toolChoice.mode: `)
}
