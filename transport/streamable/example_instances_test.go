package streamable_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// Several instances behind a load balancer that sends each request to the next
// one serve a call that asks for input: they share the secret that seals the
// state of the call.
func Example_severalInstances() {
	secret := []byte("at least 16 bytes, the same everywhere")
	instance := func(name string) http.Handler {
		s := server.New(mcp.Implementation{Name: "shop", Version: "1.0"}, nil)
		server.AddTool(s, "order", "Order tea", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			fmt.Println("served by", name)
			in, err := server.Elicit[struct {
				Grams int `json:"grams"`
			}](c, "grams", "How much tea?")
			if err != nil {
				return "", err
			}
			return fmt.Sprint(in.Grams, " g ordered"), nil
		}, nil)
		keys, err := era.NewKeys(0, secret)
		if err != nil {
			log.Fatal(err)
		}
		h, err := streamable.NewHandler(s, &streamable.Options{
			Era:       era.ServerOptions{Keys: keys},
			Stateless: true, // clients of older revisions need no session then
		})
		if err != nil {
			log.Fatal(err)
		}
		return h
	}
	instances := []http.Handler{instance("one"), instance("two")}
	var n atomic.Int64
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		instances[n.Add(1)%2].ServeHTTP(w, r)
	}))
	defer balancer.Close()

	ctx := context.Background()
	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: balancer.URL}, &client.Options{
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return e.Accept(map[string]any{"grams": 100})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	res, err := c.CallTool(ctx, "order", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content.Text())
	// Output:
	// served by one
	// served by two
	// 100 g ordered
}

// A tool reads a header that is not part of the protocol.
func ExampleRequestHeader() {
	s := server.New(mcp.Implementation{Name: "tenants", Version: "1.0"}, nil)
	server.AddTool(s, "tenant", "Name the tenant", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		return streamable.RequestHeader(ctx).Get("X-Tenant"), nil
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		log.Fatal(err)
	}
	site := httptest.NewServer(h)
	defer site.Close()
	defer h.Shutdown()

	ctx := context.Background()
	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: site.URL, Header: http.Header{"X-Tenant": {"acme"}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	res, err := c.CallTool(ctx, "tenant", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content.Text())
	// Output: acme
}
