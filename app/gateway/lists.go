package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
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
	retryAt time.Time         // the last read failed: not before
	epoch   int               // counts the changes
	short   map[string]string // names that cannot be reversed, and those of the server
	names   map[string]bool   // in items; nil until they are needed
	reading chan struct{}     // closed when the read that runs has ended; nil if none runs
	late    bool              // the read that runs takes too long: no client waits for it
	missed  bool              // a client got a list without it
}

const (
	maxPages  = 1000
	maxItems  = 4 << 20 // bytes of the list of one server
	readLimit = time.Minute
)

// An endlessError is the error for a list that is left out.
type endlessError string

func (e endlessError) Error() string { return "the list " + string(e) }

// The lists that are left out.
const (
	errTooLong      = endlessError("is longer than 4 MiB")
	errTooManyPages = endlessError("has too many pages")
	errRepeats      = endlessError("repeats a cursor")
)

// A mergedList is a list of all servers, and the versions that it was made of.
type mergedList struct {
	from []source
	body json.RawMessage
}

// A source is one version of a server's list.
type source struct {
	u       *upstream
	version int
}

// A listCache keeps the last merged lists by method, since lists are asked for
// more often than they change.
type listCache struct {
	mu   sync.Mutex
	last map[string][]mergedList // more than one if callers have different lists
}

// maxMerged is how many lists of each method are kept, if callers have different
// lists.
const maxMerged = 16

// get returns the merged list if the servers still have the versions that it was
// made of, and nil otherwise.
func (c *listCache) get(l listKind, servers []*upstream) json.RawMessage {
	c.mu.Lock()
	last := c.last[l.method]
	c.mu.Unlock()
	for _, m := range last {
		if m.isOf(l, servers) {
			return m.body
		}
	}
	return nil
}

// isOf reports whether the servers have the versions that the list was made of.
func (m *mergedList) isOf(l listKind, servers []*upstream) bool {
	if len(m.from) != len(servers) {
		return false
	}
	for i, u := range servers {
		if m.from[i].u != u {
			return false
		}
		if _, version := u.current(l); m.from[i].version != version {
			return false
		}
	}
	return true
}

// put adds a list, and keeps as many as most with it.
func (c *listCache) put(l listKind, m mergedList, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string][]mergedList{}
	}
	last := slices.DeleteFunc(slices.Clone(c.last[l.method]), func(old mergedList) bool {
		return slices.EqualFunc(old.from, m.from, func(a, b source) bool { return a.u == b.u })
	})
	c.last[l.method] = append(last[max(0, len(last)+1-most):], m)
}

// list serves a list: all items of all servers in one page, in the order of the
// servers' names. Of a set it has only what is selected.
func (r *Router) list(ctx context.Context, c *mcp.Call, l listKind) (mcp.Result, error) {
	if err := refuseCursor(c); err != nil {
		return mcp.Result{}, err
	}
	t := r.table.Load()
	all := t.of(ctx, &c.Caller)
	defer releaseAll(all)
	t.read(ctx, contactable(ctx, all), l)
	if err := ctx.Err(); err != nil {
		return mcp.Result{}, err
	}
	sel, cache := selectionOf(ctx), &t.merged
	if sel != nil {
		cache = &sel.merged
	}
	body := cache.get(l, all)
	if body == nil {
		m, most := merge(l, sel, all), 1
		if t.private {
			most = maxMerged
		}
		cache.put(l, m, most)
		body = m.body
	}
	return mcp.Result{Body: body, Server: &r.opts.Server}, nil
}

// refuseCursor returns an error if a call has a cursor: lists have one page.
func refuseCursor(c *mcp.Call) error {
	if cursor := rawjson.Lookup(c.Params, "cursor"); cursor != nil && !rawjson.IsNull(cursor) {
		return mcp.InvalidParams("cursor: unknown; begin again without one")
	}
	return nil
}

// read reads a list of servers where it may have changed, and waits for it until
// ctx ends, for ListTimeout at most.
func (t *table) read(ctx context.Context, all []*upstream, l listKind) {
	reading := false
	for _, u := range all {
		reading = u.refresh(l) || reading
	}
	if !reading {
		return
	}
	limit, cancel := context.WithTimeout(context.Background(), t.listTimeout)
	defer cancel()
	for _, u := range all {
		u.wait(ctx, limit, l)
	}
}

// merge joins the items of servers that are in a selection.
func merge(l listKind, sel *selection, all []*upstream) mergedList {
	var m mergedList
	var parts [][]byte
	twice := listedTwice(l, all)
	for _, u := range all {
		items, version := u.current(l)
		m.from = append(m.from, source{u, version})
		if sel != nil || len(twice) > 0 {
			items = l.kept(items, func(kind, name string) bool { return sel.has(u, kind, name) && !twice[name] })
		}
		parts = append(parts, items)
	}
	m.body = joined(l.member, parts)
	return m
}

// listedTwice returns the shortened names that several servers have.
func listedTwice(l listKind, all []*upstream) map[string]bool {
	if l.kind == "" {
		return nil
	}
	seen, twice := map[string]bool{}, map[string]bool{}
	for _, u := range all {
		for name := range u.short(l) {
			if seen[name] {
				twice[name] = true
				u.r.opts.Log.Warn("gateway: two servers have the same shortened name; it is left out", "name", name, "server", u.name)
			}
			seen[name] = true
		}
	}
	return twice
}

// joined returns a result with the items of all parts.
func joined(member string, parts [][]byte) json.RawMessage {
	full := slices.DeleteFunc(parts, func(p []byte) bool { return len(p) == 0 })
	body := append([]byte(`{"`+member+`":[`), bytes.Join(full, []byte{','})...)
	return append(body, `]}`...)
}

// refresh starts to read the list of a server if it may have changed. It reports
// whether a read runs.
func (u *upstream) refresh(l listKind) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := u.lists[l.method]
	if known == nil {
		known = &upstreamList{stale: true}
		u.lists[l.method] = known
	}
	watched := u.status == connected && l.selected(&u.listening)
	fresh := known.version > 0 && !known.stale && (watched || time.Now().Before(known.expires))
	if fresh || known.reading != nil || u.status == failed || u.offersNone(l) || time.Now().Before(known.retryAt) {
		return known.reading != nil
	}
	reading := make(chan struct{})
	if u.r.spawn(func() { u.read(l, known, reading) }) {
		known.reading = reading
	}
	return known.reading != nil
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

// wait waits for the read that runs until limit or ctx ends. It does not wait
// again for a read that has taken too long.
func (u *upstream) wait(ctx, limit context.Context, l listKind) {
	u.mu.Lock()
	known := u.lists[l.method]
	reading, late := known.reading, known.late
	known.missed = known.missed || late
	u.mu.Unlock()
	if reading == nil || late {
		return
	}
	select {
	case <-reading:
		return
	case <-ctx.Done():
		return
	case <-limit.Done():
	}
	u.mu.Lock()
	first := !known.late
	if known.reading == reading {
		known.late, known.missed = true, true
	}
	u.mu.Unlock()
	if first {
		u.r.opts.Log.Warn("gateway: a server does not answer in time; its list is left out or old", "server", u.name, "list", l.member)
	}
}

// current returns the items of the last read.
func (u *upstream) current(l listKind) (items []byte, version int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.status == failed {
		return nil, -1 // what it had cannot be used
	}
	known := u.lists[l.method]
	if known == nil {
		return nil, 0 // never read
	}
	return known.items, known.version
}

// read reads all pages of a list and closes reading. A list that is too long, or
// does not end, is empty for a minute at least. After another error the list is
// read again after a second at the earliest.
func (u *upstream) read(l listKind, known *upstreamList, reading chan struct{}) {
	ctx, cancel := context.WithTimeout(u.ctx, readLimit)
	defer cancel()
	u.mu.Lock()
	epoch := known.epoch
	u.mu.Unlock()
	p := newPages(u, l)
	err := p.read(ctx, mcp.Call{Method: l.method})
	ok := err == nil
	if ok {
		p.warnUnused()
	}
	if _, endless := errors.AsType[endlessError](err); endless {
		ok, p.items, p.short, p.ttl = true, nil, nil, time.Minute
	}
	u.mu.Lock()
	if ok {
		known.items, known.short, known.names, known.version = p.items, p.short, nil, known.version+1
		known.expires, known.stale = time.Now().Add(p.ttl), known.epoch != epoch
	}
	if !ok {
		known.retryAt = time.Now().Add(time.Second)
	}
	missed := known.missed && ok
	known.missed, known.late = known.missed && !ok, false
	known.reading = nil
	u.mu.Unlock()
	close(reading)
	if missed {
		u.r.changes.announce(u, l.changes)
	}
	if err != nil && u.ctx.Err() == nil {
		u.r.opts.Log.Warn("gateway: read a list of a server", "server", u.name, "list", l.member, "error", err)
	}
}

// elements returns the elements of an array, with commas in between.
func elements(array []byte) []byte {
	inner, isArray := bytes.CutPrefix(bytes.TrimSpace(array), []byte("["))
	if !isArray {
		return nil
	}
	return bytes.TrimSpace(bytes.TrimSuffix(inner, []byte("]")))
}

// short returns the shortened names of a list. The caller must not modify them.
func (u *upstream) short(l listKind) map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known := u.lists[l.method]; known != nil && u.status != failed {
		return known.short
	}
	return nil
}

// shortened returns the server's name of a tool or prompt whose name was
// shortened.
func (u *upstream) shortened(kind, name string) (own string, ok bool) {
	for _, l := range lists {
		if l.kind == kind && !ok {
			own, ok = u.short(l)[name]
		}
	}
	return own, ok
}

// extensionList returns the list that a method of a registered extension has: one
// whose result is an array of items with URIs and whose parameters have no names.
// Lists of other ids are not merged: they may belong to one client, and a server
// that does not know the clients of the gateway would list those of all.
func extensionList(method string) (l listKind, extension string, ok bool) {
	if protocol.IsCore(method) {
		return listKind{}, "", false
	}
	for _, e := range mcp.RegisteredExtensions() {
		for _, rule := range e.Names {
			if rule.Method != method {
				continue
			}
			member, _, isArray := strings.Cut(rule.Path, "[].")
			if rule.In == mcp.InParams || rule.Kind != protocol.KindURI || rule.ResultType != "" || !isArray || strings.Contains(member, ".") {
				return listKind{}, "", false
			}
			l, extension, ok = listKind{method: method, member: member}, e.ID, true
		}
	}
	return l, extension, ok
}

// listExtension serves a list of an extension: the items of all servers that
// declare the extension. A server that fails or takes too long is left out.
func (r *Router) listExtension(ctx context.Context, c *mcp.Call, l listKind, extension string) (mcp.Result, error) {
	if err := refuseCursor(c); err != nil {
		return mcp.Result{}, err
	}
	all := r.table.Load().of(ctx, &c.Caller)
	defer releaseAll(all)
	all = contactable(ctx, all)
	settle(ctx, all)
	ctx, cancel := context.WithTimeout(ctx, r.opts.ListTimeout)
	defer cancel()
	var of []*pages
	var reads sync.WaitGroup
	sel := selectionOf(ctx)
	for _, u := range all {
		found := u.discovered()
		if found == nil || found.Capabilities.Extensions[extension] == nil || !u.inUse.acquire() {
			continue
		}
		p := newPages(u, l)
		of = append(of, p)
		reads.Go(func() {
			defer u.inUse.release()
			onward := *c
			onward.OnNotification = nil
			if err := p.read(ctx, onward); err != nil {
				p.items, p.ttl = nil, 0
				r.opts.Log.Warn("gateway: read a list of a server", "server", u.name, "list", l.member, "error", err)
			}
		})
	}
	reads.Wait()
	if len(of) == 0 {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	cache := mcp.Cache{TTL: time.Hour, Scope: mcp.ScopePrivate}
	var parts [][]byte
	for _, p := range of {
		if sel != nil {
			p.items = l.kept(p.items, func(kind, name string) bool { return sel.has(p.u, kind, name) })
		}
		parts, cache.TTL = append(parts, p.items), min(cache.TTL, p.ttl)
	}
	return mcp.Result{Body: joined(l.member, parts), Cache: cache, Server: &r.opts.Server}, nil
}
