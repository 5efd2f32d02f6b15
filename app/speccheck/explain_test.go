package speccheck

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestExplain(t *testing.T) {
	ms := Check(talk(t, `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":{"name":1}},"mine":1}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"},{"type":"resource","resource":{"uri":"a:b","blob":""}}]}}`))
	texts := map[string]Field{}
	for _, m := range ms[3:] {
		for _, f := range Explain(m) {
			texts[f.Pointer] = f
		}
	}
	for pointer, want := range map[string]string{
		"/method": "Has the server run", "/params/name": "The tool to run.", "/params/arguments": "arguments", "/id": "Pairs",
		"/result/content/0/text": "The text.", "/result/content/1/resource/blob": "base64", "/result/content/1/type": "together",
	} {
		if f := texts[pointer]; !strings.Contains(f.Text, want) || !f.Known || len(f.Revisions) == 0 || f.Type == "" {
			t.Errorf("%s is explained by %+v, want something with %q", pointer, f, want)
		}
	}
	if f, ok := texts["/params/mine"]; !ok || f.Known {
		t.Errorf("a member of the sender's own is explained by %+v", f)
	}
	if _, ok := texts["/params/arguments/x"]; ok {
		t.Error("arguments were gone into")
	}
	if Describe("tools/call", "") == "" || Describe("vendor/x", "") != "" || Describe("ping", mcp.Revisions()[0]) == "" {
		t.Error("methods are not described as they should be")
	}
	same := Explain(Message{Kind: KindBatch, Revision: "2025-03-26", Frame: []byte(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}]`)})
	if len(same) != 5 || same[4].Pointer != "/0/params/name" {
		t.Errorf("a batch is explained by %+v", same)
	}
}
