// Command tenon is the measured server, gateway and client, written with Tenon.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/tenon-mcp/tenon/bench/internal/counters"
	"github.com/tenon-mcp/tenon/bench/internal/offer"
	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

func main() {
	f := side.Parse()
	counters.Serve()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case f.Call != "":
		err = call(ctx, dialer(f.Call, f.Modern), f.N)
	case f.InMemory:
		err = inMemory(ctx, &f)
	case f.Upstream != "":
		err = gateway(ctx, &f)
	case f.HTTP != "":
		side.Prepare()
		err = serveHTTP(ctx, f.HTTP, offer.Server(&f))
	default:
		err = stdio.Serve(ctx, offer.Server(&f), nil)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serveHTTP(ctx context.Context, addr string, h mcp.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return streamable.Serve(ctx, l, h, &streamable.Options{BodyLimit: 64 << 20}, nil)
}

func dialer(url string, modern bool) *streamclient.Endpoint {
	e := &streamclient.Endpoint{URL: url, Era: era.DialOptions{Known: mcp.Rev20251125}}
	if modern {
		e.Era.Known = mcp.Rev20260728
	}
	return e
}

// call makes typed calls. Listing the tools first has their outputs checked.
func call(ctx context.Context, d mcp.Dialer, n int) error {
	c, err := client.Dial(ctx, d, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return calls(ctx, c, n)
}

func calls(ctx context.Context, c *client.Client, n int) error {
	if _, err := client.All(c.Tools(ctx)); err != nil {
		return err
	}
	side.Calls(n, func() error {
		out, err := client.Call[side.AddOut](ctx, c, "add", side.AddIn{A: 20, B: 22}, nil)
		return side.Check(out.Sum, err)
	})
	return nil
}

func inMemory(ctx context.Context, f *side.Flags) error {
	door, err := era.NewServer(offer.Server(f), nil)
	if err != nil {
		return err
	}
	near, far := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- door.ServeStream(ctx, far) }()
	known := mcp.Rev20251125
	if f.Modern {
		known = mcp.Rev20260728
	}
	var o client.Options
	peer, err := era.Dial(ctx, near, o.Profile(), &era.DialOptions{Known: known})
	if err != nil {
		return err
	}
	err = calls(ctx, client.New(peer, &o), f.N)
	peer.Close()
	<-served
	return err
}

// gateway serves a connection: both are Handlers, so nothing stands in between.
func gateway(ctx context.Context, f *side.Flags) error {
	var o client.Options
	c, err := dialer(f.Upstream, f.Modern).Connect(ctx, o.Profile())
	if err != nil {
		return err
	}
	defer c.Close()
	return serveHTTP(ctx, f.HTTP, c)
}
