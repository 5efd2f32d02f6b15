package api

import (
	"container/list"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Bounds of the contents behind links.
const (
	maxLinkBytes = 128 << 20
	linkTime     = time.Hour
)

// links keeps contents that clients read by a link: results that are larger than
// their budget, and downloads. They are in memory, for an hour, for the caller of
// the tool only.
type links struct {
	mu    sync.Mutex
	known map[string]*linked
	order list.List // of *linked, the oldest first
	bytes int
}

type linked struct {
	id     string
	owner  string
	name   string
	mime   string
	data   []byte
	isText bool
	at     time.Time
}

// put keeps a content and returns its id.
func (l *links) put(one *linked) (string, error) {
	if len(one.data) > maxLinkBytes/2 {
		return "", fmt.Errorf("the result has more than %d MiB", maxLinkBytes>>21)
	}
	one.id, one.at = rand.Text(), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]*linked{}
	}
	l.known[one.id] = one
	l.order.PushBack(one)
	l.bytes += len(one.data)
	for at := l.order.Front(); at != nil && (l.bytes > maxLinkBytes || time.Since(at.Value.(*linked).at) > linkTime); at = l.order.Front() {
		old := l.order.Remove(at).(*linked)
		delete(l.known, old.id)
		l.bytes -= len(old.data)
	}
	return one.id, nil
}

func (l *links) get(id, owner string) *linked {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.known[id]
	if one == nil || one.owner != owner || time.Since(one.at) > linkTime {
		return nil
	}
	return one
}

// link keeps a content and returns the link to it.
func (e *engine) link(c *mcp.Call, v *service, name, description, kind string, data []byte, isText bool) (mcp.Content, error) {
	id, err := e.links.put(&linked{owner: c.Caller.Principal.Key(), name: name, mime: kind, data: data, isText: isText})
	if err != nil {
		return nil, err
	}
	size := int64(len(data))
	return &mcp.ResourceLink{Resource: mcp.Resource{URI: e.linkPrefix + id, Name: e.hidden(name), Description: description, MIMEType: kind, Size: &size}}, nil
}

// addLinks lets clients read linked contents.
func (e *engine) addLinks() error {
	return e.server.AddTemplate(mcp.ResourceTemplate{
		URITemplate: e.linkPrefix + "{id}", Name: "result", Title: "A whole result", Description: "A result or a file that a tool linked to; readable for an hour",
	}, func(_ context.Context, c *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
		one := e.links.get(vars["id"], c.Caller.Principal.Key())
		if one == nil {
			return nil, mcp.ResourceNotFound(uri)
		}
		if one.isText {
			return []mcp.ResourceContents{{URI: uri, MIMEType: one.mime, Text: string(one.data)}}, nil
		}
		return []mcp.ResourceContents{{URI: uri, MIMEType: one.mime, Blob: one.data}}, nil
	}, nil)
}
