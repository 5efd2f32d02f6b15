package upstream

import (
	"container/list"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cache says how the response to a GET is reused.
type Cache struct {
	TTL  time.Duration // 0 means that it is requested again
	ETag bool          // ask whether it has changed
	Any  bool          // also for methods other than GET, which only read here
	// Shared uses a response for all accounts, because it is the same for all. A
	// response with Cache-Control: private is not shared.
	Shared bool
}

// Bounds of the cache.
const (
	maxEntries    = 1000
	maxCacheBytes = 32 << 20
)

// A cache keeps the responses that were used last.
type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	order   list.List // of *entry, the one used last first
	bytes   int
}

// An entry is a response. It is never changed.
type entry struct {
	key   string
	res   Response
	etag  string
	until time.Time
}

func (e *entry) fresh(now time.Time) bool { return e != nil && now.Before(e.until) }

// response returns a copy, because a body is decoded by its receiver.
func (e *entry) response() *Response {
	copied := e.res
	return &copied
}

// cacheable reports whether the response to a request may be used again.
func (r *Request) cacheable() bool {
	if r.Method != http.MethodGet && !r.Cache.Any {
		return false
	}
	return r.Cache.TTL > 0 || r.Cache.ETag && r.Method == http.MethodGet
}

// lookup returns the key of a request of an owner, and the response that is kept for
// it, or nil.
func (c *cache) lookup(r *Request, owner string) (string, *entry) {
	key := strings.Join([]string{owner, r.Method, r.URL.String(), string(r.Body)}, "\x00")
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		key += "\x00" + name + ":" + strings.Join(r.Header[name], ",")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries[key]
	if at == nil {
		return key, nil
	}
	c.order.MoveToFront(at)
	return key, at.Value.(*entry)
}

// store keeps a response if it may be used again.
func (c *cache) store(key string, r *Request, res *Response) {
	control := strings.ToLower(strings.Join(res.Header.Values("Cache-Control"), ","))
	if key == "" || res.Status != http.StatusOK || strings.Contains(control, "no-store") || r.Cache.Shared && strings.Contains(control, "private") {
		return
	}
	e := &entry{key: key, res: *res}
	if r.Cache.ETag {
		e.etag = res.Header.Get("ETag")
	}
	if r.Cache.TTL > 0 {
		e.until = time.Now().Add(r.Cache.TTL)
	}
	if e.etag == "" && e.until.IsZero() {
		return
	}
	c.put(e)
}

// renew keeps a response that has not changed for another while.
func (c *cache) renew(key string, old *entry, how Cache) *Response {
	e := *old
	if how.TTL > 0 {
		e.until = time.Now().Add(how.TTL)
		c.put(&e)
	}
	return e.response()
}

func (c *cache) put(e *entry) {
	if len(e.res.Body) > maxCacheBytes/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]*list.Element{}
	}
	if at := c.entries[e.key]; at != nil {
		c.drop(at)
	}
	c.entries[e.key] = c.order.PushFront(e)
	c.bytes += len(e.res.Body) + len(e.key)
	for c.bytes > maxCacheBytes || c.order.Len() > maxEntries {
		c.drop(c.order.Back())
	}
}

// drop removes an entry. The caller holds the lock.
func (c *cache) drop(at *list.Element) {
	e := c.order.Remove(at).(*entry)
	delete(c.entries, e.key)
	c.bytes -= len(e.res.Body) + len(e.key)
}
