package gateway

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/internal/toolsearch"
)

// A catalog finds tools in lists. Clients may see different lists, and a list
// changes: the catalog has one index for all definitions that it knows, so that a
// list which shares most of them with others costs little, and a view for each
// list. A search finds only what is in the view, and what others see does not
// change its order.
type catalog struct {
	seed  maphash.Seed
	index *toolsearch.Index

	mu    sync.Mutex
	views []*view           // the one used last first
	used  map[string]int    // in how many views a definition is, by id
	ids   map[uint64]string // ids by the hash of the definition
	added int               // counts what was added to the index
}

// maxViews is how many lists a catalog knows.
const maxViews = 16

// A view is a list of tools.
type view struct {
	pages []json.RawMessage
	sum   uint64
	tools map[string][]byte // definitions by id

	servers string // names them, as part of a JSON string
}

func newCatalog() *catalog {
	return &catalog{seed: maphash.MakeSeed(), index: toolsearch.New(), used: map[string]int{}, ids: map[uint64]string{}}
}

// find returns the definitions in a list that match a query best.
func (c *catalog) find(pages []json.RawMessage, query string, limit int) (tools [][]byte) {
	v := c.view(pages)
	within := func(id string) bool { return v.tools[id] != nil }
	if c.index.Len() == len(v.tools) {
		within = nil
	}
	for _, id := range c.index.Find(query, limit, within) {
		if tool := v.tools[id]; tool != nil {
			tools = append(tools, tool)
		}
	}
	return tools
}

// view returns the view of a list.
func (c *catalog) view(pages []json.RawMessage) *view {
	same := func(v *view) bool {
		return slices.EqualFunc(v.pages, pages, func(a, b json.RawMessage) bool { return rawjson.Same(a, b) })
	}
	if v := c.use(same); v != nil {
		return v
	}
	sum := c.sum(pages)
	if v := c.use(func(v *view) bool { return v.sum == sum }); v != nil {
		return v
	}
	v := &view{pages: pages, sum: sum}
	c.add(v)
	return v
}

// sum returns a hash of a list.
func (c *catalog) sum(pages []json.RawMessage) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, page := range pages {
		h.Write(page)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// use returns the first view that matches, and remembers that it was used.
func (c *catalog) use(matches func(*view) bool) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.views, matches)
	if i < 0 {
		return nil
	}
	v := c.views[i]
	copy(c.views[1:i+1], c.views[:i])
	c.views[0] = v
	return v
}

// add adds a view, and drops the one that was not used for longest if there are
// too many.
func (c *catalog) add(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.tools = make(map[string][]byte, len(c.ids))
	servers := map[string]int{}
	for _, page := range v.pages {
		for e := rawjson.Array(rawjson.Lookup(page, "tools")); e.Next(); {
			c.define(v, e.Value)
			name, _ := rawjson.String(rawjson.Lookup(e.Value, "name"))
			if server, _, ok := strings.Cut(name, "__"); ok && toolname.Valid(server) {
				servers[server]++
			}
		}
	}
	v.servers = listServers(servers)
	c.views = slices.Insert(c.views, 0, v)
	if len(c.views) > maxViews {
		c.drop(c.views[maxViews])
		c.views = slices.Delete(c.views, maxViews, maxViews+1)
	}
}

// listServers returns a sentence with the servers and how many tools they have.
// Their names are such that JSON needs no escapes.
func listServers(tools map[string]int) string {
	const most = 50
	var text strings.Builder
	for i, name := range slices.Sorted(maps.Keys(tools)) {
		switch i {
		case 0:
			text.WriteString(" There are tools of these servers: ")
		case most:
			fmt.Fprintf(&text, " and %d more", len(tools)-most)
		default:
			text.WriteString(", ")
		}
		if i == most {
			break
		}
		fmt.Fprintf(&text, "%s (%d)", name, tools[name])
	}
	if text.Len() > 0 {
		text.WriteByte('.')
	}
	return text.String()
}

// define adds a definition to a view, and to the index if it is new.
func (c *catalog) define(v *view, tool []byte) {
	hash := maphash.Bytes(c.seed, tool)
	id, known := c.ids[hash]
	if !known {
		id = strconv.FormatUint(hash, 36)
		c.ids[hash] = id
		c.put(id, tool)
	}
	if v.tools[id] == nil {
		v.tools[id] = tool
		c.used[id]++
	}
}

// drop removes what no other view has from the index.
func (c *catalog) drop(v *view) {
	for id, tool := range v.tools {
		if c.used[id]--; c.used[id] == 0 {
			delete(c.used, id)
			delete(c.ids, maphash.Bytes(c.seed, tool))
			c.index.Remove(id)
		}
	}
}

// put adds a definition to the index.
func (c *catalog) put(id string, tool []byte) {
	c.added++
	name, _ := rawjson.String(rawjson.Lookup(tool, "name"))
	title, ok := rawjson.String(rawjson.Lookup(tool, "title"))
	if !ok {
		title, _ = rawjson.String(rawjson.LookupIn(tool, "annotations", "title"))
	}
	description, _ := rawjson.String(rawjson.Lookup(tool, "description"))
	c.index.Put(id, strings.Replace(name, "__", " ", 1)+" "+title, description, rawjson.Lookup(tool, "inputSchema"))
}
