package streamable_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// One handler serves clients of every revision; one client finds out what a
// server speaks.
func Example() {
	s := server.New(mcp.Implementation{Name: "greeter", Version: "1.0"}, nil)
	server.AddTool(s, "greet", "Greet somebody", func(_ context.Context, _ *mcp.Call, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		log.Fatal(err)
	}
	site := httptest.NewServer(h) // or http.Handle("/mcp", h)
	defer site.Close()
	defer h.Shutdown()

	ctx := context.Background()
	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: site.URL}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := client.Call[string](ctx, c, "greet", map[string]string{"name": "Ada"}, nil)
	fmt.Println(text, err)
	// Output: Hello, Ada! <nil>
}
