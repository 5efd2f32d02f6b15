package gateway

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Guard returns middleware for one server: it leaves definitions that wait for
// approval out of lists and refuses calls of such tools and prompts, also by
// clients that know an approved definition. Everything else passes. Subscribers
// are notified when a definition is held back or approved.
//
// A server is wrapped below the [Router], with the names that it has itself, so
// that pins do not depend on how a gateway names things. If a server has several
// connections, such as one for each user, see [Pins.GuardEach].
//
// A tool or prompt that no list has shown yet, or whose list has changed according
// to the server, is looked up before it is called. Lists are read again in the
// background after a change, and every five minutes while the server is used.
func (p *Pins) Guard(server string) mcp.Middleware { return p.guard(server, false) }

// GuardEach is like [Pins.Guard] for one of several connections to a server whose
// definitions may differ, such as those of its users. A definition that is not
// approved is held back where it is seen, as a [Pin] of its own, and all that are
// approved count for all connections: a definition has changed if nobody has
// approved it.
func (p *Pins) GuardEach(server string) mcp.Middleware { return p.guard(server, true) }

func (p *Pins) guard(server string, each bool) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		g := &guard{pins: p, server: server, each: each, next: next, seen: map[string]map[string]*sighting{}, subs: map[*guardedSub]struct{}{}, lookups: map[lookupKey]*lookup{}, lookedUp: map[lookupKey]time.Time{}, listed: map[string]uint64{}, changes: map[string]uint64{}}
		for _, l := range pinnedLists {
			g.seen[l.kind] = map[string]*sighting{}
		}
		g.seen[PinInstructions] = map[string]*sighting{}
		p.register(g)
		return g
	}
}

// A pinnedList is a list whose items are pinned.
type pinnedList struct {
	method, member string
	kind           string // of the pins
	name           string // the member of an item that identifies it
	use            string // the method that uses an item by its name; empty if none does
	changed        mcp.Notification
}

var pinnedLists = []pinnedList{
	{mcp.MethodToolsList, "tools", PinTool, "name", mcp.MethodToolsCall, mcp.Notification{Method: mcp.NotificationToolsListChanged}},
	{mcp.MethodPromptsList, "prompts", PinPrompt, "name", mcp.MethodPromptsGet, mcp.Notification{Method: mcp.NotificationPromptsListChanged}},
	{mcp.MethodResourceTemplatesList, "resourceTemplates", PinTemplate, "uriTemplate", "", mcp.Notification{Method: mcp.NotificationResourcesListChanged}},
}

const (
	lookupPause = 10 * time.Second // between two lookups of names that the server does not list
	recheck     = 5 * time.Minute  // after which lists are read again
	settleTime  = time.Second      // between a change and reading the list
)

// A sighting is the definition that a server had when it was seen last.
type sighting struct {
	definition Definition
	held       bool
}

// A guard is the middleware for one server.
type guard struct {
	pins   *Pins
	server string
	each   bool // see GuardEach
	next   mcp.Handler

	checked  atomic.Int64 // when lists were read last, in Unix seconds
	checking atomic.Bool  // a goroutine reads lists again

	mu       sync.RWMutex
	seen     map[string]map[string]*sighting // by kind and name; the sightings are never modified
	changes  map[string]uint64               // by kind: counts the changes that the server notified of
	listed   map[string]uint64               // by kind: the changes before the last list that was read whole
	lookups  map[lookupKey]*lookup
	lookedUp map[lookupKey]time.Time
	subs     map[*guardedSub]struct{}
}

// Serve implements [mcp.Handler].
func (g *guard) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.IsNotification {
		return g.next.Serve(ctx, c)
	}
	switch c.Method {
	case mcp.MethodDiscover:
		return g.discover(ctx, c)
	case mcp.MethodSubscriptionsListen:
		return g.listen(ctx, c)
	}
	for i := range pinnedLists {
		l := &pinnedLists[i]
		switch c.Method {
		case l.method:
			return g.list(ctx, c, l)
		case l.use:
			if err := g.check(ctx, c, l); err != nil {
				return mcp.Result{}, err
			}
			return g.next.Serve(ctx, c)
		}
	}
	return g.next.Serve(ctx, c)
}

// discover leaves out instructions that are held back.
func (g *guard) discover(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	res, err := g.next.Serve(ctx, c)
	if err != nil {
		return res, err
	}
	res.Body = rawjson.RewriteMember(res.Body, "instructions", func(value []byte) []byte {
		if text, ok := rawjson.String(value); ok && text != "" && g.see(PinInstructions, "", newDefinition(value)) {
			return nil
		}
		return value
	})
	return res, nil
}

// list serves a page of a list without the items that are held back.
func (g *guard) list(ctx context.Context, c *mcp.Call, l *pinnedList) (mcp.Result, error) {
	before := g.changesOf(l.kind)
	res, err := g.next.Serve(ctx, c)
	if err != nil {
		return res, err
	}
	flipped := false
	res.Body = rawjson.RewriteMember(res.Body, l.member, func(items []byte) []byte {
		kept, changed := g.filter(items, l)
		flipped = changed
		return kept
	})
	if cursor := rawjson.Lookup(res.Body, "nextCursor"); cursor == nil || rawjson.IsNull(cursor) {
		g.checked.Store(time.Now().Unix())
		if rawjson.Lookup(c.Params, "cursor") == nil {
			g.setListed(l.kind, before)
		}
	}
	if flipped {
		g.announce(l.kind)
	}
	return res, nil
}

// filter returns an array without the items that are held back; the array itself
// if none is. flipped reports whether that has changed for an item.
func (g *guard) filter(items []byte, l *pinnedList) (kept []byte, flipped bool) {
	out, dropped := []byte{'['}, false
	for e := rawjson.Array(items); e.Next(); {
		name, _ := rawjson.String(rawjson.Lookup(e.Value, l.name))
		was := g.sighting(l.kind, []byte(name))
		held := g.see(l.kind, name, newDefinition(e.Value))
		flipped = flipped || was != nil && was.held != held
		if held {
			dropped = true
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, e.Value...)
	}
	if !dropped {
		return items, flipped
	}
	return append(out, ']'), flipped
}

// see records what the server has, and reports whether it is held back.
func (g *guard) see(kind, name string, d Definition) (held bool) {
	held = g.pins.see(pinKey{g.server, kind, name, ""}, d, g.each)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.seen[kind]) >= maxSeen {
		clear(g.seen[kind]) // they are looked up again
	}
	g.seen[kind][name] = &sighting{d, held}
	return held
}

// maxSeen is the number of definitions of one kind that a guard remembers.
const maxSeen = 20_000

// sighting returns what was seen; nil if nothing was.
func (g *guard) sighting(kind string, name []byte) *sighting {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.seen[kind][string(name)]
}

// check returns an error if a tool or prompt must not be used.
func (g *guard) check(ctx context.Context, c *mcp.Call, l *pinnedList) error {
	name := unquoted(rawjson.Lookup(c.Params, l.name))
	if name == nil {
		return nil // the server refuses the call
	}
	s, changes, fresh := g.current(l.kind, name)
	if s != nil && !fresh {
		for range 2 { // a read that runs may have begun before the change
			if err := g.lookUp(ctx, c, l, changes); err != nil {
				return err
			}
		}
		s = g.sighting(l.kind, name)
	}
	if s == nil {
		if err := g.lookUp(ctx, c, l, 0); err != nil {
			return err
		}
		s = g.sighting(l.kind, name)
	} else if time.Now().Unix()-g.checked.Load() > int64(recheck/time.Second) {
		g.checkAgain(0)
	}
	switch {
	case s == nil && g.pins.opts.HoldNew:
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s %q of server %s is not approved: the server does not list it", l.kind, clip(string(name)), g.server)
	case s != nil && s.held:
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s %q of server %s waits for approval by the operator of the gateway: its definition is new or has changed", l.kind, clip(string(name)), g.server)
	}
	return nil
}

// current returns what was seen, nil if nothing was, and whether that was after all
// changes that the server has notified of.
func (g *guard) current(kind string, name []byte) (s *sighting, changes uint64, fresh bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	changes = g.changes[kind]
	return g.seen[kind][string(name)], changes, g.listed[kind] >= changes
}

// changesOf returns how many changes of a list the server has notified of.
func (g *guard) changesOf(kind string) uint64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.changes[kind]
}

// hasListed reports whether a list was read whole after this many changes.
func (g *guard) hasListed(kind string, changes uint64) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.listed[kind] >= changes
}

// setListed records that a list was read whole after this many changes.
func (g *guard) setListed(kind string, changes uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listed[kind] = max(g.listed[kind], changes)
}

// unquoted returns the text of a JSON string, which is a part of raw if it has no
// escapes; nil if raw is not a string.
func unquoted(raw []byte) []byte {
	if rawjson.IsString(raw) && bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, ok := rawjson.String(raw)
	if !ok {
		return nil
	}
	return append([]byte{}, text...)
}

// A lookup is a list that is being read for calls of unknown names. Servers may
// list something else for each principal.
type (
	lookup struct {
		done chan struct{}
		err  error // once done is closed
	}
	lookupKey struct{ kind, principal string }
)

// maxLookedUp is the number of lookups whose times a guard remembers.
const maxLookedUp = 1000

// lookUp reads a list because of a call, unless it was read after this many changes
// or, if that is 0, a moment ago. Calls that need the same list share one read.
func (g *guard) lookUp(ctx context.Context, c *mcp.Call, l *pinnedList, changes uint64) error {
	key := lookupKey{l.kind, c.Caller.Principal.Key()}
	g.mu.Lock()
	at := g.lookups[key]
	if changes > 0 && g.listed[l.kind] >= changes || at == nil && changes == 0 && time.Since(g.lookedUp[key]) < lookupPause {
		g.mu.Unlock()
		return nil
	}
	if at == nil {
		at = &lookup{done: make(chan struct{})}
		g.lookups[key] = at
		caller := c.Caller
		run := func() {
			at.err = g.read(caller, l)
			g.mu.Lock()
			delete(g.lookups, key)
			if len(g.lookedUp) >= maxLookedUp {
				clear(g.lookedUp)
			}
			g.lookedUp[key] = time.Now()
			g.mu.Unlock()
			close(at.done)
		}
		if !g.pins.spawn(run) {
			delete(g.lookups, key)
			g.mu.Unlock()
			return mcp.Errorf(mcp.CodeInternal, "the gateway is closed")
		}
	}
	g.mu.Unlock()
	select {
	case <-at.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if at.err != nil {
		return mcp.Errorf(mcp.CodeInternal, "server %s: check the definition of the %s: %v", g.server, l.kind, at.err)
	}
	return nil
}

// read reads all pages of a list.
func (g *guard) read(caller mcp.Caller, l *pinnedList) error {
	ctx, cancel := context.WithTimeout(g.pins.ctx, readLimit)
	defer cancel()
	page := func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { return g.list(ctx, c, l) }
	before := g.changesOf(l.kind)
	err := readPages(ctx, mcp.Call{Method: l.method, Caller: caller}, maxItems, page, func(mcp.Result) error { return nil })
	if err != nil && hasNone(err) {
		err = nil
	}
	if err == nil {
		g.setListed(l.kind, before)
	}
	return err
}

// checkAgain reads the lists in the background after a pause, one goroutine at a
// time.
func (g *guard) checkAgain(after time.Duration) {
	if !g.checking.CompareAndSwap(false, true) {
		return
	}
	run := func() {
		pause(g.pins.ctx, after)
		g.checking.Store(false) // a change from now on needs another read
		g.checked.Store(time.Now().Unix())
		for i := range pinnedLists {
			l := &pinnedLists[i]
			due := after == 0 || !g.hasListed(l.kind, g.changesOf(l.kind))
			if due && g.pins.ctx.Err() == nil {
				_ = g.read(mcp.Caller{}, l) // what was seen before still counts
			}
		}
	}
	if !g.pins.spawn(run) {
		g.checking.Store(false)
	}
}

// reconsider applies changed pins to what was seen.
func (g *guard) reconsider() {
	type item struct {
		kind, name string
		was        *sighting
	}
	var all []item
	g.mu.RLock()
	for kind, names := range g.seen {
		for name, s := range names {
			all = append(all, item{kind, name, s})
		}
	}
	g.mu.RUnlock()
	flipped := map[string]bool{}
	for _, it := range all {
		held := g.pins.reconsider(pinKey{g.server, it.kind, it.name, ""}, it.was.definition, g.each)
		g.mu.Lock()
		if held != it.was.held && g.seen[it.kind][it.name] == it.was {
			g.seen[it.kind][it.name] = &sighting{it.was.definition, held}
			flipped[it.kind] = true
		}
		g.mu.Unlock()
	}
	for kind := range flipped {
		g.announce(kind)
	}
}

// A guardedSub is a subscription of a client, or of a Router.
type guardedSub struct {
	wants  mcp.SubscriptionFilter
	notify func(mcp.Notification)
}

// listen passes a subscription on and adds notifications about what is held back
// or approved.
func (g *guard) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in mcp.ListenParams
	if c.OnNotification == nil || c.Decode(&in) != nil {
		return g.next.Serve(ctx, c)
	}
	s := &guardedSub{wants: in.Notifications, notify: c.OnNotification}
	onward := *c
	onward.OnNotification = func(n mcp.Notification) {
		g.notified(n) // before the client can act on it
		c.OnNotification(n)
		g.acknowledged(s, n)
	}
	detached := false
	if c.Detach != nil {
		onward.Detach = func(stop func()) {
			detached = true
			c.Detach(func() { g.drop(s); stop() })
		}
	}
	res, err := g.next.Serve(ctx, &onward)
	if err != nil && !detached && hasNone(err) && ctx.Err() == nil {
		return g.serveAlone(ctx, c, s)
	}
	if !detached || err != nil {
		g.drop(s)
	}
	return res, err
}

// serveAlone serves a subscription at a server that has none.
func (g *guard) serveAlone(ctx context.Context, c *mcp.Call, s *guardedSub) (mcp.Result, error) {
	defer g.drop(s)
	ack, err := acknowledgement(mcp.SubscriptionFilter{})
	if err != nil {
		return mcp.Result{}, err
	}
	g.notified(ack)
	c.Notify(ack)
	g.acknowledged(s, ack)
	<-ctx.Done()
	return mcp.Result{}, nil
}

// notified acts on a notification of the server: lists that have changed are read
// before anything of them is used.
func (g *guard) notified(n mcp.Notification) {
	// Changes before the acknowledgement are not notified of.
	acknowledged := n.Method == mcp.NotificationSubscriptionsAcknowledged
	changed := false
	g.mu.Lock()
	for i := range pinnedLists {
		if l := &pinnedLists[i]; acknowledged || n.Method == l.changed.Method {
			g.changes[l.kind]++
			changed = true
		}
	}
	g.mu.Unlock()
	switch {
	case acknowledged:
		g.checkAgain(0)
	case changed:
		g.checkAgain(settleTime)
	}
}

// acknowledged adds a subscription that the server has acknowledged.
func (g *guard) acknowledged(s *guardedSub, n mcp.Notification) {
	if n.Method != mcp.NotificationSubscriptionsAcknowledged {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.subs[s] = struct{}{}
}

func (g *guard) drop(s *guardedSub) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.subs, s)
}

// announce notifies subscribers that a list has changed.
func (g *guard) announce(kind string) {
	var subs []*guardedSub
	g.mu.RLock()
	for s := range g.subs {
		subs = append(subs, s)
	}
	g.mu.RUnlock()
	for _, s := range subs {
		for _, l := range pinnedLists {
			if l.kind == kind && s.wants.Wants(l.changed) {
				s.notify(l.changed)
			}
		}
	}
}
