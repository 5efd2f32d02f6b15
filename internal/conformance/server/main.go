// Command server is what the official conformance suite is run against: every
// tool, resource and prompt that its server scenarios look for, at one endpoint
// that serves all revisions. See internal/conformance/run.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/tenon-mcp/tenon/schema/validate" // for the tool with a schema of its own

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("http", "127.0.0.1:0", "the address to listen on; port 0 means any that is free")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

// serve listens, says on standard output where, and serves until ctx ends.
func serve(ctx context.Context, addr string) error {
	s, err := newServer()
	if err != nil {
		return err
	}
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	go func() {
		<-ctx.Done()
		h.Shutdown()
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		web.Shutdown(ctx)
	}()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newServer returns a server with all fixtures.
func newServer() (*server.Server, error) {
	s := server.New(mcp.Implementation{Name: "tenon-conformance", Version: "1.0.0"}, &server.Options{
		ListCache: mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic},
	})
	addContentTools(s)
	addTellingTools(s)
	addAskingTools(s)
	addRoundTools(s)
	addChangeTools(s)
	addPrompts(s)
	if err := addSchemaTool(s); err != nil {
		return nil, err
	}
	return s, addResources(s)
}

// nothing is the arguments of a tool that takes none.
type nothing struct{}
