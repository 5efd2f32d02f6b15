package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/orders"
)

// ordersAddr is where tenon demo orders listens, and where the pack orders looks.
const ordersAddr = "127.0.0.1:8480"

func (p *program) demoOrdersCommand() *cobra.Command {
	var addr, file, key string
	c := &cobra.Command{
		Use:   "orders",
		Short: "Run a small order service, an API to wrap",
		Long: `Run the order service of a tea shop until interrupted: a JSON API with orders,
search, and refunds with idempotency keys, behind an API key. The builtin server
orders wraps it, and shows how credentials stay in the server: the model never
sees the key.

The key is the value of the environment variable ORDERS_API_KEY (--key names
another one). Without it a random key is made and printed to standard error.
Orders are kept in memory, unless --db names a file.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.demoOrders(cmd.Context(), addr, file, key)
		},
	}
	c.Flags().StringVar(&addr, "addr", ordersAddr, "the `address` to listen on, of this machine only; port 0 picks a free port")
	c.Flags().StringVar(&file, "db", "", "keep the orders in this `file` (SQLite), made if there is none; default: in memory")
	c.Flags().StringVar(&key, "key", "ORDERS_API_KEY", "the environment `variable` with the API key")
	return c
}

func (p *program) demoOrders(ctx context.Context, addr, file, variable string) error {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--addr must be an address of this machine only, such as %s", ordersAddr)
	}
	given := os.Getenv(variable)
	key := cmp.Or(given, "demo-"+strings.ToLower(rand.Text()))
	s, err := orders.New(orders.Config{Key: key, File: file})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return listenError("--addr", addr, ordersAddr, err)
	}
	fmt.Fprintf(p.out, "http://%s/v1\n", l.Addr())
	if given == "" {
		p.note("The order service has a random key. For the server that wraps it:\n  export %s=%s", variable, key)
	}
	return serveOrders(ctx, l, s)
}

// serveOrders serves until ctx ends, and then waits for open requests.
func serveOrders(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		return err
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
