// Command server is the server under test of the official conformance suite:
// it has every tool, resource and prompt of the server scenarios, at one
// endpoint for all revisions. See internal/conformance/run.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

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
	s, err := newServer()
	if err != nil {
		log.Fatal(err)
	}
	err = streamable.ListenAndServe(ctx, *addr, s, nil, func(at net.Addr) { fmt.Printf("http://%s%s\n", at, streamable.Path) })
	if err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server with all fixtures.
func newServer() (*server.Server, error) {
	s := server.New(mcp.Implementation{Name: "tenon-conformance", Version: "1.0.0"}, &server.Options{
		ListCache: mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic},
	})
	addContentTools(s)
	addNotificationTools(s)
	addInputTools(s)
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
