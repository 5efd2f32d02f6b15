package client

import (
	"bytes"
	"container/list"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A cache holds results for as long as their servers allow, up to a maximum
// size. It evicts the least recently used results first. A nil cache holds
// nothing.
type cache struct {
	max int // bytes

	mu      sync.Mutex
	size    int
	entries map[key]*list.Element // of *entry
	used    list.List             // most recently used first
	changes map[string]uint64     // how often results of a method were dropped
}

// A key identifies a result. Public results have no owner.
type key struct {
	method, params string
	public         bool
	owner          string // the key of a principal
}

// An entry is a cached result.
type entry struct {
	key    key
	result mcp.Result
	uri    string // of a resource
	until  time.Time
	size   int
}

// entrySize is the approximate size of an entry without its strings.
const entrySize = 512

func newCache(maxBytes int) *cache {
	if maxBytes <= 0 {
		return nil
	}
	return &cache{max: maxBytes, entries: make(map[key]*list.Element), changes: make(map[string]uint64)}
}

// A slot identifies where the result of a call can be cached.
type slot struct {
	key     key
	changes uint64 // before the call
}

func (c *cache) slot(method string, params json.RawMessage, owner string) slot {
	canonical := string(rawjson.AppendCanonical(nil, params))
	c.mu.Lock()
	defer c.mu.Unlock()
	return slot{key{method: method, params: canonical, owner: owner}, c.dropped(method)}
}

// dropped returns how often results of a method were dropped. The lock is held.
func (c *cache) dropped(method string) uint64 {
	n := c.changes[method]
	if !protocol.IsCore(method) {
		n += c.changes[extensions]
	}
	return n
}

// get returns a valid result of the same principal, or a public one.
func (c *cache) get(p slot) (mcp.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range [2]key{p.key, {method: p.key.method, params: p.key.params, public: true}} {
		el := c.entries[k]
		if el == nil {
			continue
		}
		e := el.Value.(*entry)
		if !time.Now().Before(e.until) {
			c.remove(el)
			continue
		}
		c.used.MoveToFront(el)
		return e.result, true
	}
	return mcp.Result{}, false
}

// put caches a result if its server allows it and nothing has changed since
// slot.
func (c *cache) put(p slot, r mcp.Result) {
	if r.Cache.TTL <= 0 {
		return
	}
	k := p.key
	if r.Cache.Scope == mcp.ScopePublic {
		k.public, k.owner = true, ""
	}
	e := &entry{key: k, result: r, until: time.Now().Add(r.Cache.TTL)}
	e.result.Body = bytes.Clone(r.Body)
	if k.method == mcp.MethodResourcesRead {
		e.uri, _ = rawjson.String(rawjson.Lookup([]byte(k.params), "uri"))
	}
	e.size = entrySize + len(k.params) + len(k.owner) + len(r.Body)
	for name, v := range r.Meta {
		e.size += len(name) + len(v)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.size > c.max || c.dropped(k.method) != p.changes {
		return
	}
	if old := c.entries[k]; old != nil {
		c.remove(old)
	}
	c.entries[k] = c.used.PushFront(e)
	c.size += e.size
	for c.size > c.max {
		c.remove(c.used.Back())
	}
}

func (c *cache) remove(el *list.Element) {
	e := c.used.Remove(el).(*entry)
	delete(c.entries, e.key)
	c.size -= e.size
}

// drop removes all results of a method, also those of calls in progress.
func (c *cache) drop(method string) {
	c.dropIf(method, func(*entry) bool { return true })
}

func (c *cache) dropIf(method string, stale func(*entry) bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes[method]++
	c.removeIf(func(e *entry) bool { return e.key.method == method && stale(e) })
}

// dropExtensions removes all results of methods of extensions.
func (c *cache) dropExtensions() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes[extensions]++
	c.removeIf(func(e *entry) bool { return !protocol.IsCore(e.key.method) })
}

// extensions counts the changes of all methods of extensions.
const extensions = ""

// removeIf removes results. The lock is held.
func (c *cache) removeIf(stale func(*entry) bool) {
	for el := c.used.Front(); el != nil; {
		next := el.Next()
		if stale(el.Value.(*entry)) {
			c.remove(el)
		}
		el = next
	}
}

// changed drops the results that a notification makes stale. What an extension
// lists may be made of any feature.
func (c *cache) changed(n mcp.Notification) {
	switch n.Method {
	case mcp.NotificationToolsListChanged:
		c.drop(mcp.MethodToolsList)
		c.dropExtensions()
	case mcp.NotificationPromptsListChanged:
		c.drop(mcp.MethodPromptsList)
		c.dropExtensions()
	case mcp.NotificationResourcesListChanged:
		c.drop(mcp.MethodResourcesList)
		c.drop(mcp.MethodResourceTemplatesList)
		c.dropExtensions()
	case mcp.NotificationResourceUpdated:
		c.dropExtensions()
		uri, ok := rawjson.String(rawjson.Lookup(n.Params, "uri"))
		// The updated resource may be a part of the one that was read, or
		// contain it.
		c.dropIf(mcp.MethodResourcesRead, func(e *entry) bool {
			return !ok || strings.HasPrefix(e.uri, uri) || strings.HasPrefix(uri, e.uri)
		})
	}
}
