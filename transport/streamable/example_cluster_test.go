package streamable_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// Two replicas behind a load balancer that sends each request to the next one
// serve an older client: one replica asks for input, the other gets the response
// and forwards it.
func Example_cluster() {
	ctx := context.Background()
	store := cluster.NewMemory() // on many machines: redis.Open of package cluster/redis
	var replicas []http.Handler
	for range 2 {
		replica, err := cluster.Join(ctx, store, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer replica.Close()
		s := server.New(mcp.Implementation{Name: "shop", Version: "1.0"}, nil)
		server.AddTool(s, "order", "Order tea", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			in, err := server.Elicit[struct {
				Grams int `json:"grams"`
			}](c, "grams", "How much tea?")
			if err != nil {
				return "", err
			}
			return fmt.Sprint(in.Grams, " g ordered"), nil
		}, nil)
		if err := s.ShareChanges(replica.Topic("changes")); err != nil {
			log.Fatal(err)
		}
		defer s.Close()
		h, err := streamable.NewHandler(s, &streamable.Options{Cluster: replica})
		if err != nil {
			log.Fatal(err)
		}
		defer h.Shutdown()
		replicas = append(replicas, h)
	}
	var n atomic.Int64
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replicas[n.Add(1)%2].ServeHTTP(w, r)
	}))
	defer balancer.Close()

	older := era.DialOptions{Known: mcp.Rev20250618}
	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: balancer.URL, Era: older}, &client.Options{
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
	// Output: 100 g ordered
}
