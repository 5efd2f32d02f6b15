package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A listKind is a list that the gateway merges.
type listKind struct {
	method string
	member string // of the result: the array of items
	kind   string // of the items' names
	// changes selects the changes of the list.
	changes mcp.SubscriptionFilter
}

// selected reports whether a filter is about the list.
func (l listKind) selected(f *mcp.SubscriptionFilter) bool {
	return f.ToolsListChanged && l.changes.ToolsListChanged ||
		f.PromptsListChanged && l.changes.PromptsListChanged ||
		f.ResourcesListChanged && l.changes.ResourcesListChanged
}

// lists has the lists by method.
var lists = map[string]listKind{
	mcp.MethodToolsList:             {mcp.MethodToolsList, "tools", protocol.KindTool, mcp.SubscriptionFilter{ToolsListChanged: true}},
	mcp.MethodPromptsList:           {mcp.MethodPromptsList, "prompts", protocol.KindPrompt, mcp.SubscriptionFilter{PromptsListChanged: true}},
	mcp.MethodResourcesList:         {mcp.MethodResourcesList, "resources", "", mcp.SubscriptionFilter{ResourcesListChanged: true}},
	mcp.MethodResourceTemplatesList: {mcp.MethodResourceTemplatesList, "resourceTemplates", "", mcp.SubscriptionFilter{ResourcesListChanged: true}},
}

// An upstreamList is the list of one server, with the names that clients see.
// upstream.mu guards it.
type upstreamList struct {
	items   []byte // the elements, with commas in between
	version int    // counts the times it was read; 0 means never
	expires time.Time
	stale   bool
	epoch   int               // counts the changes
	short   map[string]string // names that cannot be reversed, and those of the server
	reading chan struct{}     // closed when the read that runs has ended; nil if none runs
	missed  bool              // a client got a list without it
}

const (
	maxPages  = 1000
	maxItems  = 64 << 20 // bytes of one list
	readLimit = time.Minute
)

// A mergedList is the list of all servers.
type mergedList struct {
	versions []int
	body     json.RawMessage
}

// list serves a list: all items of all servers in one page, in the order of the
// servers' names.
func (r *Router) list(ctx context.Context, c *mcp.Call, l listKind) (mcp.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.ListTimeout)
	defer cancel()
	for _, u := range r.upstreams {
		u.refresh(l)
	}
	versions := make([]int, len(r.upstreams))
	parts := make([][]byte, len(r.upstreams))
	for i, u := range r.upstreams {
		parts[i], versions[i] = u.current(ctx, l)
	}
	return mcp.Result{Body: r.merge(l, versions, parts), Server: &r.opts.Server}, nil
}

// merge joins the items. It keeps the last result of each list, since lists are
// asked for more often than they change.
func (r *Router) merge(l listKind, versions []int, parts [][]byte) json.RawMessage {
	r.mergedMu.Lock()
	defer r.mergedMu.Unlock()
	if last := r.merged[l.method]; last.body != nil && equal(last.versions, versions) {
		return last.body
	}
	full := parts[:0:0]
	for _, p := range parts {
		if len(p) > 0 {
			full = append(full, p)
		}
	}
	body := append([]byte(`{"`+l.member+`":[`), bytes.Join(full, []byte{','})...)
	body = append(body, `]}`...)
	r.merged[l.method] = mergedList{versions, body}
	return body
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// refresh starts to read the list of a server if it may have changed.
func (u *upstream) refresh(l listKind) {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := u.lists[l.method]
	if known == nil {
		known = &upstreamList{stale: true}
		u.lists[l.method] = known
	}
	watched := u.status == connected && l.selected(&u.listening)
	fresh := known.version > 0 && !known.stale && (watched || time.Now().Before(known.expires))
	if fresh || known.reading != nil || u.status == failed || u.offersNone(l) {
		return
	}
	known.reading = make(chan struct{})
	u.r.wg.Go(func() { u.read(l, known) })
}

// offersNone reports whether the server has no such list.
func (u *upstream) offersNone(l listKind) bool {
	if u.found == nil {
		return false
	}
	can := u.found.Capabilities
	switch l.method {
	case mcp.MethodToolsList:
		return can.Tools == nil
	case mcp.MethodPromptsList:
		return can.Prompts == nil
	}
	return can.Resources == nil
}

// current returns the items of a server. It waits for the read that runs, or
// returns the items of the last one if that takes too long.
func (u *upstream) current(ctx context.Context, l listKind) (items []byte, version int) {
	u.mu.Lock()
	known := u.lists[l.method]
	reading := known.reading
	u.mu.Unlock()
	if reading != nil {
		select {
		case <-reading:
		case <-ctx.Done():
			u.mu.Lock()
			known.missed = true
			u.mu.Unlock()
			u.r.opts.Log.Warn("gateway: a server does not answer in time; its list is left out or old", "server", u.name, "list", l.member)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.status == failed {
		return nil, -1 // what it had cannot be used
	}
	return known.items, known.version
}

// read reads all pages of a list.
func (u *upstream) read(l listKind, known *upstreamList) {
	ctx, cancel := context.WithTimeout(u.r.ctx, readLimit)
	defer cancel()
	u.mu.Lock()
	epoch := known.epoch
	u.mu.Unlock()
	items, short, ttl, err := u.pages(ctx, l)
	u.mu.Lock()
	if err == nil {
		known.items, known.short, known.version = items, short, known.version+1
		known.expires, known.stale = time.Now().Add(ttl), known.epoch != epoch
	}
	missed := known.missed && err == nil
	known.missed = known.missed && err != nil
	close(known.reading)
	known.reading = nil
	u.mu.Unlock()
	if missed {
		u.r.changes.announce(l.changes)
	}
	if err != nil && ctx.Err() == nil {
		u.r.opts.Log.Warn("gateway: read a list of a server", "server", u.name, "list", l.member, "error", err)
	}
}

func (u *upstream) pages(ctx context.Context, l listKind) (items []byte, short map[string]string, ttl time.Duration, err error) {
	var params json.RawMessage
	ttl = time.Hour
	for range maxPages {
		res, err := u.handler.Serve(ctx, &mcp.Call{Method: l.method, Params: params})
		if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMethodNotFound {
			return nil, nil, ttl, nil
		}
		if err != nil {
			return nil, nil, 0, err
		}
		ttl = min(ttl, res.Cache.TTL)
		body, err := protocol.RenameNames(l.method, mcp.InResult, "", res.Body, func(kind, name string) (string, error) {
			out := u.outward(kind, name)
			if kind == l.kind && out != u.name+"__"+name {
				if short == nil {
					short = map[string]string{}
				}
				short[out] = name
			}
			return out, nil
		})
		if err != nil {
			return nil, nil, 0, err
		}
		if page := elements(rawjson.Lookup(body, l.member)); len(page) > 0 {
			if len(items) > 0 {
				items = append(items, ',')
			}
			items = append(items, page...)
		}
		cursor := rawjson.Lookup(body, "nextCursor")
		if cursor == nil || rawjson.IsNull(cursor) {
			return items, short, ttl, nil
		}
		if len(items) > maxItems {
			return nil, nil, 0, errors.New("the list is too long")
		}
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return nil, nil, 0, errors.New("the list has too many pages")
}

// elements returns the elements of an array, with commas in between.
func elements(array []byte) []byte {
	inner, isArray := bytes.CutPrefix(bytes.TrimSpace(array), []byte("["))
	if !isArray {
		return nil
	}
	return bytes.TrimSpace(bytes.TrimSuffix(inner, []byte("]")))
}

// shortened returns the server's name of a tool or prompt whose name was
// shortened.
func (u *upstream) shortened(kind, name string) (own string, ok bool) {
	for _, l := range lists {
		if l.kind != kind {
			continue
		}
		u.refresh(l)
		ctx, cancel := context.WithTimeout(u.r.ctx, u.r.opts.ListTimeout)
		u.current(ctx, l)
		cancel()
		u.mu.Lock()
		own, ok = u.lists[l.method].short[name]
		u.mu.Unlock()
	}
	return own, ok
}
