package server_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestRoots(t *testing.T) {
	s, _ := newServer(server.Options{})
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) {
		roots, err := server.Roots(c, "roots")
		return fmt.Sprint(len(roots), roots), err
	})
	expect(t, "question", questions(t, s, "t", can(nil))["roots"].Method, mcp.MethodRootsList)
	rows := []struct{ answer, want string }{
		{`{"roots":[{"uri":"file:///a","name":"A"},{"uri":"https://example.com"},{"uri":"file://"},{"uri":"/b"},{"uri":"file:///c"}]}`, `…"2 [{file:///a A map[]} {file:///c  map[]}]"`},
		{`{"roots":[]}`, `…"0 []"`},
		{`{}`, `…"0 []"`},
		{`{"roots":1}`, `…-32602 response to "roots": `},
	}
	for _, row := range rows {
		expect(t, row.answer, callTool(t, s, "t", "", can(map[string]string{"roots": row.answer})), row.want)
	}
	expect(t, "no capability", callTool(t, s, "t", ""), `…{"requiredCapabilities":{"roots":{}}}`)
}
