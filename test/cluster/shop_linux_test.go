package cluster

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A shop is a server behind the gateways. It counts what it has done.
type shop struct {
	s   *server.Server
	url string

	mu      sync.Mutex
	orders  map[string]int // by name: how often it was ordered
	waiting chan string    // has the name of each call of wait that began
	ended   chan string    // has the name of each call of wait that ended
	release chan struct{}  // closed: calls of wait end
}

// openShop starts a server. A legacy one speaks only older revisions, so that a
// call that asks for input stays open at the gateway.
func openShop(t testing.TB, legacy bool) *shop {
	t.Helper()
	h := &shop{s: server.New(mcp.Implementation{Name: "shop", Version: "1"}, nil),
		orders: map[string]int{}, waiting: make(chan string, 100), ended: make(chan string, 100), release: make(chan struct{})}
	server.AddTool(h.s, "add", "Add numbers", func(_ context.Context, _ *mcp.Call, in struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (string, error) {
		return fmt.Sprint(in.A + in.B), nil
	}, nil)
	server.AddTool(h.s, "order", "Order something, once the amount is known", func(_ context.Context, c *mcp.Call, in struct {
		Name string `json:"name"`
	}) (string, error) {
		answer, err := server.Elicit[struct {
			Grams int `json:"grams"`
		}](c, "grams", "How much "+in.Name+"?")
		if err != nil {
			return "", err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.orders[in.Name]++
		return fmt.Sprintf("%d g of %s", answer.Grams, in.Name), nil
	}, nil)
	server.AddTool(h.s, "wait", "Wait", func(ctx context.Context, _ *mcp.Call, in struct {
		Name string `json:"name"`
	}) (string, error) {
		h.waiting <- in.Name
		defer func() { h.ended <- in.Name }()
		select {
		case <-h.release:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, nil)
	err := h.s.AddResource(mcp.Resource{URI: "shop://prices", Name: "prices"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", "tea 5"), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web, err := streamable.NewHandler(h.s, &streamable.Options{Era: era.ServerOptions{LegacyOnly: legacy}})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(web)
	t.Cleanup(func() {
		web.Shutdown()
		site.CloseClientConnections()
		site.Close()
	})
	h.url = site.URL
	return h
}

// ordered returns how often something was ordered.
func (h *shop) ordered(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.orders[name]
}
