package era_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A large answer can be sent in parts, so that its body is not copied. Put
// together they are the very message.
func TestLargeAnswersSplit(t *testing.T) {
	small := json.RawMessage(`{"content":[]}`)
	large := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`)
	for name, body := range map[string]json.RawMessage{"small": small, "large": large} {
		s, err := eraconn.NewServer(discoverable(func(context.Context, *mcp.Call) (mcp.Result, error) {
			return mcp.Result{Body: body, Meta: mcp.Meta{"example.com/a": json.RawMessage(`1`)}}, nil
		}), eraconn.ServerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		decode := func(text string) *jsonrpc.Message {
			m, err := jsonrpc.Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return &m
		}
		ses := s.NewSession("test")
		var back eraconn.SessionReplyWriter // nothing is told or asked
		ses.Serve(t.Context(), decode(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), nil, back)
		answers := map[string]eraconn.Response{
			"modern": s.ServeModern(t.Context(), decode(`{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`), nil, eraconn.ReplyWriter{}),
			"legacy": ses.Serve(t.Context(), decode(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`), nil, back),
		}
		for age, a := range answers {
			whole := string(a.Append([]byte("before")))
			if (a.Split != nil) != (name == "large") {
				t.Errorf("%s, %s: can be split: %v", name, age, a.Split != nil)
			}
			if a.Split == nil {
				continue
			}
			rest, at, part := a.Split([]byte("before"))
			if got := string(rest[:at]) + string(part) + string(rest[at:]); got != whole {
				t.Errorf("%s, %s: the parts of the answer are not the answer:\n%.200s … %.200s\n%.200s", name, age, got, got[len(got)-100:], whole)
			}
			if len(rest) > 1000 {
				t.Errorf("%s, %s: %d bytes were copied", name, age, len(rest))
			}
		}
		ses.Close()
	}
}
