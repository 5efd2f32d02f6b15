package era_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Methods that packages of this module use among themselves cannot be called
// by a client, whatever the Handler is.
func TestPrivateMethodsAreRefused(t *testing.T) {
	s, err := era.NewServer(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if strings.HasPrefix(c.Method, "tenon/") {
			t.Errorf("a client has called %s", c.Method)
		}
		return mcp.Result{Body: []byte(`{"capabilities":{}}`)}, nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	done := make(chan error)
	go func() { done <- s.ServeStream(t.Context(), far) }()
	say := func(request string) string {
		if err := near.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		frame, err := near.Read()
		if err != nil {
			t.Fatal(err)
		}
		return string(frame)
	}
	modern := `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if got := say(`{"jsonrpc":"2.0","id":1,"method":"tenon/revision"` + modern); !strings.Contains(got, "-32601") {
		t.Errorf("modern: %s", got)
	}
	if got := say(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`); !strings.Contains(got, "serverInfo") {
		t.Fatalf("initialize: %s", got)
	}
	if got := say(`{"jsonrpc":"2.0","id":3,"method":"tenon/revision"}`); !strings.Contains(got, "-32601") {
		t.Errorf("legacy: %s", got)
	}
	near.Close()
	<-done
}
