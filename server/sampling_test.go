package server_test

import (
	"context"
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
	expect(t, "no answer", callTool(t, s, "t", "", answer(`7`)), `…-32602 the answer to "k" cannot be read: `)
	expect(t, "no capability", callTool(t, s, "t", ""), `…{"requiredCapabilities":{"sampling":{}}}`)
	p.ToolChoice = &mcp.ToolChoice{Mode: "always"}
	expect(t, "bad", callTool(t, s, "t", "", can(nil)), `…-32602 toolChoice.mode: `)
}
