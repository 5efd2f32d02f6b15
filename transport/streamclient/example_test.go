package streamclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// An Endpoint connects a client to a server of any revision.
func ExampleEndpoint() {
	handler, err := streamable.NewHandler(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		switch c.Method {
		case mcp.MethodDiscover:
			return mcp.Result{Body: []byte(`{"capabilities":{"tools":{}}}`)}, nil
		case mcp.MethodToolsCall:
			return mcp.Result{Body: []byte(`{"content":[{"type":"text","text":"Hello"}]}`)}, nil
		}
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	defer handler.Shutdown()

	c, err := client.Dial(context.Background(), &streamclient.Endpoint{
		URL:    server.URL,
		Header: http.Header{"Authorization": {"Bearer secret"}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, err := client.Call[string](context.Background(), c, "greet", nil, nil)
	fmt.Println(text, err)
	// Output: Hello <nil>
}
