package era_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

const release = "tenon/release" // the method of mcp.Call.Release

// The note that lets a client go is between a handler and its door: on a stream,
// where nobody can be let go, it is dropped in every era.
func TestReleaseIsNotWritten(t *testing.T) {
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodDiscover {
			return mcp.Result{Body: json.RawMessage(`{"capabilities":{"tools":{}}}`)}, nil
		}
		c.Notify(mcp.Notification{Method: release})
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	})
	s, err := era.NewServer(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStream(t.Context(), far) }()
	for _, send := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		legacyCall("2", "any", ""),
		toolCall("3", "any", ""),
	} {
		if err := near.Write([]byte(send + "\n")); err != nil {
			t.Fatal(err)
		}
		frame, err := near.Read()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(frame), `"result"`) {
			t.Errorf("after %s came %s", send, frame)
		}
	}
	near.Close()
	<-served
}

// A server far away cannot let somebody else's client go.
func TestReleaseIsNotHeard(t *testing.T) {
	for name, discover := range map[string]string{
		"modern": `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`,
		"legacy": `"error":{"code":-32601,"message":"no"}`,
	} {
		near, far := jsonrpc.Pipe()
		go func() {
			for {
				frame, err := far.Read()
				if err != nil {
					return
				}
				m, err := jsonrpc.Decode(frame)
				if err != nil || !m.IsRequest() {
					continue
				}
				answer := `"result":{"resultType":"complete","content":[]}`
				switch m.Method {
				case mcp.MethodDiscover:
					answer = discover
				case "initialize":
					answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
				case mcp.MethodToolsCall:
					far.Write([]byte(`{"jsonrpc":"2.0","method":"` + release + `"}` + "\n"))
				}
				far.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + "}\n"))
			}
		}()
		hear := func(n mcp.Notification) { t.Errorf("%s: heard %s", name, n.Method) }
		p, err := era.Dial(t.Context(), near, &mcp.ClientProfile{OnNotification: hear}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := p.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"x"}`), OnNotification: hear}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.Close()
		far.Close()
	}
}
