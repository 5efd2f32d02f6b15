package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A call whose header says something else than its arguments is refused, and the
// server does not see it.
func TestCheckHeaders(t *testing.T) {
	calls := 0
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, &server.Options{PageSize: 1})
	server.AddTool(s, "first", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "first", nil }, nil)
	if err := s.AddRawTool(mcp.Tool{Name: "put", InputSchema: []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
			calls++
			return &mcp.CallToolResult{}, nil
		}); err != nil {
		t.Fatal(err)
	}
	// The server alone would check as well: what reaches it has no headers.
	blind := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		bare := *c
		bare.Headers = nil
		return s.Serve(ctx, &bare)
	})
	h := gateway.CheckHeaders()(blind)
	for _, c := range []struct {
		headers map[string]string
		args    string
		want    string // part of the error; empty means none
	}{
		{nil, `{"region":"eu"}`, ""}, // a transport without headers
		{map[string]string{"region": "eu"}, `{"region":"eu"}`, ""},
		{map[string]string{"region": "us"}, `{"region":"eu"}`, `Mcp-Param-region differs from the argument`},
		{map[string]string{}, `{"region":"eu"}`, `Mcp-Param-region is missing`},
		{map[string]string{"region": "eu"}, `{}`, `Mcp-Param-region is present`},
		{map[string]string{}, `{}`, ""},
	} {
		before := calls
		_, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"put","arguments":` + c.args + `}`), Headers: c.headers})
		switch e, _ := err.(*mcp.Error); {
		case c.want == "" && (err != nil || calls != before+1):
			t.Errorf("%v %s: %v, and %d calls reached the server", c.headers, c.args, err, calls-before)
		case c.want != "" && (e == nil || e.Code != mcp.CodeHeaderMismatch || !strings.Contains(e.Message, c.want) || calls != before):
			t.Errorf("%v %s: %v, and %d calls reached the server; want an error with %q", c.headers, c.args, err, calls-before, c.want)
		}
	}
}

func ExampleCheckHeaders() {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	_ = s.AddRawTool(mcp.Tool{Name: "put", InputSchema: []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil })
	h := gateway.CheckHeaders()(s)
	_, err := h.Serve(context.Background(), &mcp.Call{
		Method:  mcp.MethodToolsCall,
		Params:  []byte(`{"name":"put","arguments":{"region":"eu"}}`),
		Headers: map[string]string{"region": "us"}, // from Mcp-Param-Region
	})
	fmt.Println(err)
	// Output: header Mcp-Param-region differs from the argument "region" (-32020)
}
