package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	pageAuto    = "auto" // in a terminal
	pageOff     = "off"
	pageAnyPort = "127.0.0.1:0"
)

// A gatewayPage is the page of a gateway; nil means that there is none.
type gatewayPage struct {
	g      *gatewayRun
	l      net.Listener
	cancel context.CancelFunc // nil before serve
	done   chan error
}

// listenPage listens for the page of the gateway, on a loopback address. It
// returns nil if there is no page.
func (g *gatewayRun) listenPage() (*gatewayPage, error) {
	at := g.v.page
	switch {
	case at == pageOff, at == pageAuto && (g.v.stdio || !g.p.interactive()):
		return nil, nil
	case at == pageAuto:
		at = pageAnyPort
	}
	if tcp, err := net.ResolveTCPAddr("tcp", at); err == nil && !tcp.IP.IsLoopback() {
		return nil, usagef("--page: other machines can reach %s; use a loopback address, such as 127.0.0.1:7071", at)
	}
	l, err := listenLocal("--page", at, false)
	if err != nil {
		return nil, err
	}
	g.observer = gateway.NewObserver(nil)
	return &gatewayPage{g: g, l: l}, nil
}

// close ends the page.
func (p *gatewayPage) close() {
	switch {
	case p == nil:
	case p.cancel == nil:
		p.l.Close()
	default:
		p.cancel()
		if err := <-p.done; err != nil {
			p.g.log.Warn("the page did not end well", "error", err)
		}
	}
}

// serve begins to serve the page. url is the address of the gateway for clients.
func (p *gatewayPage) serve(url string) {
	if p == nil {
		return
	}
	g := p.g
	page := web.NewGateway(web.GatewayOptions{
		URL: url, Observer: g.observer, Hosts: pageHosts(p.l), Servers: g.pageServers,
		Names: func() gateway.Resolver {
			if g.router == nil {
				return nil
			}
			return g.router
		},
		Pins: g.pins.Load,
	})
	announce := func() {
		fmt.Fprintf(g.p.err, "The page of the gateway:\n  http://%s/#token=%s\n", p.l.Addr(), page.NewToken())
	}
	announce()
	if g.p.interactive() && !g.v.stdio {
		go g.p.onEnter(announce) // ends with the program
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.done = cancel, make(chan error, 1)
	go func() { p.done <- page.Serve(ctx, p.l) }()
}

func (g *gatewayRun) pageServers() []json.RawMessage {
	all := []json.RawMessage{}
	for _, s := range g.serverStatus() {
		if raw, err := mcp.Marshal(s); err == nil {
			all = append(all, raw)
		}
	}
	return all
}
