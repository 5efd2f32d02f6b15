package modern

import (
	"bytes"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Whatever params say, a call that is lifted has nothing of the envelope left, and
// stamping and lifting it again gives the same call.
func FuzzLift(f *testing.F) {
	const head = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}`
	f.Add(mcp.MethodToolsCall, []byte(`{"name":"t","arguments":{"_meta":{}},"_meta":{`+head+`}}`))
	f.Add(mcp.MethodToolsCall, []byte(`{"_meta":{`+head+`,"progressToken":1,"a/b":{"progressToken":2},"io.modelcontextprotocol/logLevel":"info"},"inputResponses":{"k":{"action":"accept"}}}`))
	f.Add(mcp.MethodToolsList, []byte(`{"_meta":{`+head+`,"\u0070rogressToken":"p"},"requestState":"x","cursor":"c"}`))
	keys, err := NewKeys(time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	s := NewServer(nil, keys)
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if rawjson.Check(params) != nil {
			return // a message with such params is not decoded
		}
		m := &jsonrpc.Message{ID: jsonrpc.IntID(7), Method: method, Params: bytes.Clone(params)} // lift overwrites them
		req, err := s.lift(m, nil)
		if err != nil {
			return
		}
		c := &req.call
		for o := rawjson.Object(c.Params); o.Next(); {
			switch name := string(o.Name); {
			case name == keyMeta, protocol.IsCore(method) && (name == keyState || name == keyInputResponses):
				t.Fatalf("%s stays in the params %s", o.Name, c.Params)
			}
		}
		for _, key := range reservedMeta {
			if _, ok := c.Meta[key]; ok {
				t.Fatalf("%s stays in the meta of %s", key, params)
			}
		}
		var st stamps
		again, err := st.request(c, 9)
		if err != nil {
			t.Fatal(err)
		}
		back, err := s.lift(&jsonrpc.Message{ID: m.ID, Method: method, Params: bytes.Clone(again)}, nil)
		if err != nil {
			t.Fatalf("%s was lifted and stamped as %s: %v", params, again, err)
		}
		if first, second := rawjson.AppendCanonical(nil, c.Params), rawjson.AppendCanonical(nil, back.call.Params); string(first) != string(second) {
			t.Fatalf("%s\nlifted  %s\nstamped %s\nlifted  %s", params, first, again, second)
		}
		if len(c.Meta) != len(back.call.Meta) {
			t.Fatalf("%s\nhas the meta %v, and then %v", params, c.Meta, back.call.Meta)
		}
	})
}
