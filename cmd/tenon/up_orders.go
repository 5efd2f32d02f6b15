package main

import (
	"context"
	"crypto/rand"
	"net"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/orders"
	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/packs"
)

// An orderDemo is the order service of tenon up. Its key is known to the service
// and to the server that wraps it, and to nothing else.
type orderDemo struct {
	base string // URL
	key  string
	stop func()
}

// startOrders starts the order service with its orders in a file.
func (p *program) startOrders(ctx context.Context, file string) (*orderDemo, error) {
	d := &orderDemo{key: "demo-" + strings.ToLower(rand.Text())}
	s, err := orders.New(orders.Config{Key: d.key, File: file})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Close()
		return nil, err
	}
	d.base = "http://" + l.Addr().String() + "/v1"
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serveOrders(ctx, l, s) }()
	d.stop = func() {
		cancel()
		<-ended
		s.Close()
	}
	p.secrets.Add("orders", d.key)
	p.orders = d
	return d, nil
}

// openBuiltin returns a builtin server for an in-process connection. That of the
// order service of tenon up gets its key.
func (p *program) openBuiltin(name string, query url.Values) (connect.Builtin, error) {
	if p.orders == nil || name != "orders" || query.Get("base") != p.orders.base {
		return openBuiltin(name, query)
	}
	file, _ := packs.File(name)
	c, err := api.Pack(name, file)(query)
	if err != nil {
		return nil, err
	}
	c.Resolver = credential.Resolver{Getenv: func(variable string) (string, bool) { return p.orders.key, variable == "ORDERS_API_KEY" }}
	s, err := api.New(c)
	if err != nil {
		return nil, err // not s: a nil server in an interface is not nil
	}
	return s, nil
}
