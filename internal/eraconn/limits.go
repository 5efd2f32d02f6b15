package eraconn

import (
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// openSubscriptions counts the subscriptions that are open.
type openSubscriptions struct {
	perClient, limit int // the limits

	mu     sync.Mutex
	total  int
	client map[string]int
}

func (o *openSubscriptions) init(perClient, limit int) {
	o.perClient, o.limit, o.client = or(perClient, 512), or(limit, 16384), map[string]int{}
}

// add counts a subscription of a client, or returns the error that refuses it.
// An empty client counts toward the total only.
func (o *openSubscriptions) add(client string) *jsonrpc.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case client != "" && o.client[client] >= o.perClient:
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("too many subscriptions: this client has %d open, the limit; end one, or combine several in one subscription", o.perClient)}
	case o.total >= o.limit:
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("too many subscriptions: this server has %d open, its limit; try again later", o.limit)}
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
