package era

import (
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// SubscriptionLimits bounds how many subscriptions to changes a [Server] holds
// open over all its transports: calls of subscriptions/listen, and the GET
// streams of legacy clients over HTTP.
type SubscriptionLimits struct {
	// PerClient is the limit for one client. A client is a principal, or,
	// without one, a connection (stdio, sockets). Unverified clients over HTTP
	// are bounded by Total alone. 0 means 512.
	PerClient int

	// Total is the limit for all clients together. 0 means 16384.
	Total int
}

// openSubscriptions counts the subscriptions that are open.
type openSubscriptions struct {
	limits SubscriptionLimits

	mu     sync.Mutex
	total  int
	client map[string]int
}

func (o *openSubscriptions) init(l SubscriptionLimits) {
	if l.PerClient <= 0 {
		l.PerClient = 512
	}
	if l.Total <= 0 {
		l.Total = 16384
	}
	o.limits, o.client = l, map[string]int{}
}

// add counts a subscription of a client, or returns the error that refuses it.
// An empty client counts toward the total only.
func (o *openSubscriptions) add(client string) *jsonrpc.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case client != "" && o.client[client] >= o.limits.PerClient:
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("too many subscriptions: this client has %d open, the limit; end one, or combine several in one subscription", o.limits.PerClient)}
	case o.total >= o.limits.Total:
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("too many subscriptions: this server has %d open, its limit; try again later", o.limits.Total)}
	}
	o.total++
	if client != "" {
		o.client[client]++
	}
	return nil
}

func (o *openSubscriptions) drop(client string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total--
	if client == "" {
		return
	}
	if o.client[client]--; o.client[client] == 0 {
		delete(o.client, client)
	}
}

// Subscribe counts a subscription of a principal (nil for an unverified client)
// until the caller calls release. The error says which limit is reached.
func (s *Server) Subscribe(p *mcp.Principal) (release func(), refused *jsonrpc.Error) {
	key := p.Key()
	if refused := s.subscriptions.add(key); refused != nil {
		return nil, refused
	}
	return func() { s.subscriptions.drop(key) }, nil
}
