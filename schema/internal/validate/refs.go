package validate

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// noBase is the URI of a schema without $id.
const noBase = "tenon:///"

// maxAddress is the maximum length of the URI of a schema, because every
// reference is resolved against it.
const maxAddress = 4096

var errNotFetched = errors.New("external references are never fetched")

// A reference is resolved when all schemas are known.
type reference struct {
	from     *node
	kind, to string
}

// locate reads the identifiers of a schema and returns the resource that it
// belongs to.
func (c *compiler) locate(n *node, i int32, core core, home *resource) *resource {
	root := i == 0
	if c.judging || !root && !core.located {
		return home
	}
	spoken := c.dialect(core, home)
	if id := core.identity(spoken); id != "" {
		address, fragment, _ := strings.Cut(id, "#")
		if fragment != "" && spoken >= draft2019 {
			c.bad("$id", "must not have a fragment; use $anchor")
		}
		if address != "" || root {
			home = &resource{base: resolve(home.base, address)}
			root = true
			if len(home.base) > maxAddress {
				c.fail("the $id %s has more than %d bytes", words.Quote(id), maxAddress)
			}
		}
		if fragment != "" {
			name(&home.anchors, fragment, n)
		}
	}
	if root {
		home.dialect, home.at = spoken, i
		if c.resources == nil {
			c.resources = map[string]*resource{}
		}
		if c.resources[home.base] != nil {
			c.fail("two schemas have the same $id %s", words.Quote(strings.TrimPrefix(home.base, noBase)))
		}
		c.resources[home.base] = home
	}
	if home.dialect >= draft2019 {
		c.anchor(n, core.anchor, "$anchor", home)
		if home.dialect >= draft2020 && c.anchor(n, core.dynamic, "$dynamicAnchor", home) {
			name(&home.dynamic, core.dynamic, n)
		}
		if home.dialect == draft2019 && i == home.at && core.recursive {
			home.recursive = n
		}
	}
	return home
}

// anchor gives a schema a name.
func (c *compiler) anchor(n *node, anchor, key string, home *resource) bool {
	if anchor == "" {
		return false
	}
	if !isAnchor(anchor) {
		c.bad(key, "must begin with a letter or _ and go on with letters, digits, and -._")
	}
	if old := home.anchors[anchor]; old != nil && old != n {
		c.fail("two schemas have the same anchor %s", words.Quote(anchor))
	}
	name(&home.anchors, anchor, n)
	return true
}

func name(in *map[string]*node, key string, n *node) {
	if *in == nil {
		*in = map[string]*node{}
	}
	(*in)[key] = n
}

// isAnchor takes what anchors are made of.
func isAnchor(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// core is what a schema says about itself.
type core struct {
	located             bool // it says anything of what follows
	schema, id, plainID string
	anchor, dynamic     string
	recursive, ref      bool
}

func (c *compiler) core(i int32) (found core) {
	for m := i + 1; m < c.doc.items[i].next; m = c.doc.items[m+1].next {
		name := c.doc.bytes(m)
		if len(name) == 0 || name[0] != '$' && name[0] != 'i' {
			continue
		}
		text := ""
		if c.doc.items[m+1].kind == isString {
			text = c.doc.string(m + 1)
		}
		switch string(name) {
		case "$ref":
			found.ref = true
			continue
		case "$schema":
			found.schema = text
		case "$id":
			found.id = text
		case "id":
			found.plainID = text
		case "$anchor":
			found.anchor = text
		case "$dynamicAnchor":
			found.dynamic = text
		case "$recursiveAnchor":
			found.recursive = c.doc.isTrue(m + 1)
		default:
			continue
		}
		found.located = true
	}
	return found
}

// dialect gives the dialect of a schema, which may say that it is another one.
func (c *compiler) dialect(core core, home *resource) dialect {
	if core.schema == "" {
		return home.dialect
	}
	d := dialectOf(core.schema)
	if d == unknown {
		c.fail("the dialect %s of %s is not supported; use JSON Schema 2020-12 (or 2019-09, draft 7, 6, 4)", words.Quote(core.schema), c.pointer())
	}
	return d
}

// identity gives the $id of a schema. Beside a $ref old dialects ignore it.
func (core *core) identity(d dialect) string {
	switch {
	case d <= draft7 && core.ref:
		return ""
	case d == draft4:
		return core.plainID
	}
	return core.id
}

// resolve makes an address absolute.
func resolve(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	r, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	return b.ResolveReference(r).String()
}

// tie resolves all references. A target may be where no schema was expected,
// and may contain further references.
func (c *compiler) tie() {
	for n := 0; n < len(c.pending) && c.err == nil; n++ {
		p := c.pending[n]
		h := p.from.here
		if p.kind == "$recursiveRef" {
			c.dynamic = true
			h.dynamic = &dynamicRef{target: c.nodes[p.from.home.at]}
			continue
		}
		res, fragment := c.resource(p)
		if res == nil {
			if d := dialectOf(p.to); d != unknown {
				h.ref = &node{meta: d}
			} else {
				address, _, _ := strings.Cut(resolve(p.from.home.base, p.to), "#")
				c.loosef(p.from, "the schema refers to %s, which is not in it: %w", words.Quote(strings.TrimPrefix(address, noBase)), errNotFetched)
			}
			continue
		}
		target := c.target(res, fragment)
		switch {
		case target == nil:
			c.loosef(p.from, "the schema refers to %s, which does not exist", words.Quote(p.to))
		case p.kind == "$dynamicRef" && res.dynamic[fragment] != nil:
			c.dynamic = true
			h.dynamic = &dynamicRef{target: target, name: fragment}
		case p.kind == "$dynamicRef":
			h.dynamic = &dynamicRef{target: target, name: "#"} // no anchor is called so
		default:
			h.ref = target
		}
	}
}

// A loose end is a reference that leads nowhere.
type looseEnd struct {
	from *node
	err  error
}

func (c *compiler) loosef(from *node, format string, args ...any) {
	c.loose = append(c.loose, looseEnd{from, fmt.Errorf(format, args...)})
}

// trim forgives loose ends in definitions that nobody uses.
func (c *compiler) trim(root *node) {
	if c.loose == nil {
		return
	}
	seen, names := map[*node]bool{}, map[string]bool{}
	todo := []*node{root}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n != nil && !seen[n] {
			seen[n] = true
			n.each(func(sub *node) { todo = append(todo, sub) })
			if n.here != nil && n.here.dynamic != nil && !names[n.here.dynamic.name] {
				names[n.here.dynamic.name] = true
				for _, res := range c.resources {
					todo = append(todo, res.recursive, res.dynamic[n.here.dynamic.name])
				}
			}
		}
	}
	for _, end := range c.loose {
		if seen[end.from] {
			c.fail("%w", end.err)
		}
	}
}

// resource finds the resource of a reference, and gives the rest of it.
func (c *compiler) resource(p reference) (*resource, string) {
	address, fragment, _ := strings.Cut(p.to, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if address == "" {
		return p.from.home, fragment
	}
	return c.resources[resolve(p.from.home.base, address)], fragment
}

// target follows a fragment, which is a name or a JSON pointer, or gives nil.
func (c *compiler) target(res *resource, fragment string) *node {
	if fragment != "" && fragment[0] != '/' {
		return res.anchors[fragment]
	}
	at, home := res.at, res
	c.path = c.path[:0]
	for _, step := range strings.Split(fragment, "/")[1:] {
		if n := c.nodes[at]; n != nil && n.home != nil {
			home = n.home
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		c.path = append(c.path, crumb{name: []byte(step)})
		if at = c.step(at, step); at < 0 {
			return nil
		}
	}
	return c.schema(at, home, 1)
}

// step finds what is called so in an object or array, or -1. Large ones get an
// index, so that many references cost no more than they are long.
func (c *compiler) step(at int32, step string) int32 {
	it := &c.doc.items[at]
	if it.kind != isObject && it.kind != isArray {
		return -1
	}
	if it.kind == isObject && it.count <= 16 {
		return c.doc.member(at, step)
	}
	if c.indexes[at] == nil {
		index := make(map[string]int32, it.count)
		for i := at + 1; i < it.next; i = c.doc.items[i].next {
			if it.kind == isArray {
				index[strconv.Itoa(len(index))] = i
			} else {
				index[c.doc.string(i)] = i + 1
				i++
			}
		}
		if c.indexes == nil {
			c.indexes = map[int32]map[string]int32{}
		}
		c.indexes[at] = index
	}
	if i, ok := c.indexes[at][step]; ok {
		return i
	}
	return -1
}
