package legacy

import (
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Revision 2025-11-25 gives each URL elicitation an id, and has a notification
// with this id for its completion. Above this package, the key of the input
// request within its call takes the place of the id.

const keyElicitation = "elicitationId"

// pages maps the keys of the URL elicitations of one call to their ids.
type pages struct {
	mu  sync.Mutex
	ids map[string]string
}

// asked remembers the elicitation id in the params of an input request, if any.
func (p *pages) asked(key string, params []byte) {
	id, ok := rawjson.String(rawjson.Lookup(params, keyElicitation))
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = map[string]string{}
	}
	p.ids[key] = id
}

// complete returns the notification of completion with the client's id. It
// reports false if the client knows no such elicitation.
func (p *pages) complete(n mcp.Notification) (out mcp.Notification, ok bool) {
	key, _ := rawjson.String(rawjson.Lookup(n.Params, keyElicitation))
	p.mu.Lock()
	id, ok := p.ids[key]
	p.mu.Unlock()
	return pageDone(n, id), ok
}

// pageDone returns n with another elicitation id.
func pageDone(n mcp.Notification, id string) mcp.Notification {
	n.Params = withMember(nil, keyElicitation, rawjson.AppendString(nil, id))
	return n
}
