package legacy

import (
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Revision 2025-11-25 gives each page that a person is asked to open an id, and
// has a notification that says under this id that the person is done there.
// Above this package the key of the question within its call stands for the id.

const keyElicitation = "elicitationId"

// pages are the ids of the pages of one call, by the keys of their questions.
type pages struct {
	mu  sync.Mutex
	ids map[string]string
}

// asked notes the id that a question goes out with, if it has one.
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

// complete is the notification that a page is done, with its id. It is of no use
// where the client knows no such page.
func (p *pages) complete(n mcp.Notification) (out mcp.Notification, ok bool) {
	key, _ := rawjson.String(rawjson.Lookup(n.Params, keyElicitation))
	p.mu.Lock()
	id, ok := p.ids[key]
	p.mu.Unlock()
	return pageDone(n, id), ok
}

// pageDone is the notification n under another id.
func pageDone(n mcp.Notification, id string) mcp.Notification {
	n.Params = withMember(nil, keyElicitation, rawjson.AppendString(nil, id))
	return n
}
