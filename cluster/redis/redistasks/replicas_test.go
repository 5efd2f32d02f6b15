package redistasks_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/cluster/redis/redistasks"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// served starts a replica and returns its endpoint.
func served(t *testing.T, url string) http.Handler {
	ctx := t.Context()
	log := slog.New(slog.DiscardHandler)
	shared, err := redis.Open(ctx, url, &redis.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shared.Close() })
	store, err := redistasks.New(ctx, shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { s.Close() })
	m, err := tasks.NewManager(s, &tasks.Options{Store: store, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(s, "ask", "Ask", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		answer, err := server.Elicit[struct {
			Name string `json:"name"`
		}](c, "who", "Who?")
		return "heard " + answer.Name, err
	}, m.Tool(tasks.Optional, nil))
	replica, err := cluster.Join(ctx, shared, &cluster.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { replica.Close() })
	h, err := streamable.NewHandler(s, &streamable.Options{Cluster: replica, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	replica.Handle(h)
	return h
}

// Clients of both forms of tasks work with replicas behind a load balancer that
// sends each request to another one. Their users are asked once per task.
func TestTasksBehindALoadBalancer(t *testing.T) {
	url := redistest.Start(t, nil).URL
	replicas := []http.Handler{served(t, url), served(t, url), served(t, url)}
	var n atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replicas[n.Add(1)%int64(len(replicas))].ServeHTTP(w, r)
	}))
	defer front.Close()
	for _, rev := range []mcp.Revision{mcp.Rev20260728, mcp.Rev20251125} {
		t.Run(string(rev), func(t *testing.T) {
			var asked atomic.Int64
			c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: front.URL, Era: era.DialOptions{Known: rev}}, &client.Options{
				Middleware: []mcp.Middleware{tasks.Client},
				Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
					asked.Add(1)
					return e.Accept(map[string]string{"name": "eve"})
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			const times = 6
			for range times {
				h, err := tasks.Start(t.Context(), c, "ask", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := h.Wait(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(res.Content.Text(), "heard eve") {
					t.Errorf("the result is %q", res.Content.Text())
				}
			}
			if asked.Load() != times {
				t.Errorf("the user was asked %d times for %d tasks", asked.Load(), times)
			}
		})
	}
}
