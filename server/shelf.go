package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A shelf holds the features of one kind, in the order in which they were
// added. Its pages are encoded once and served as bytes until it changes.
type registry[T any] struct {
	kind   Kind
	member string // under which a page lists them

	mu    sync.RWMutex
	items map[string]*item[T]
	order []*item[T]                // by place; what is there is never overwritten, so that it can be read unlocked
	last  int64                     // the last place that was given away
	ever  atomic.Bool               // there was a feature once
	pages map[int64]json.RawMessage // by the place that they follow
}

// An item has a place that it keeps, so that a cursor stays good while others
// come and go.
type item[T any] struct {
	name  string
	place int64
	line  json.RawMessage // what the list says of it
	feat  *T
}

// put adds a feature, or takes the place of the one with its name. line is what
// the list will say of it: it is encoded before, so that a feature that cannot
// be listed fails then and not whenever somebody lists.
func (s *registry[T]) put(name string, line json.RawMessage, f *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = nil
	now := &item[T]{name: name, line: line, feat: f}
	if old := s.items[name]; old != nil {
		now.place = old.place
		s.order = slices.Clone(s.order)
		s.order[after(s.order, old.place)-1] = now
	} else {
		s.ever.Store(true)
		s.last++
		now.place = s.last
		s.order = append(s.order, now)
	}
	if s.items == nil {
		s.items = map[string]*item[T]{}
	}
	s.items[name] = now
}

// drop removes features and returns how many there were.
func (s *registry[T]) drop(names []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.items)
	for _, name := range names {
		delete(s.items, name)
	}
	dropped := before - len(s.items)
	if dropped > 0 {
		s.pages = nil
		s.order = slices.DeleteFunc(slices.Clone(s.order), func(it *item[T]) bool { return s.items[it.name] != it })
	}
	return dropped
}

// after returns the index of the first item behind a place.
func after[T any](order []*item[T], place int64) int {
	i, _ := slices.BinarySearchFunc(order, place+1, func(it *item[T], p int64) int { return cmp.Compare(it.place, p) })
	return i
}

// get returns a feature, or nil.
func (s *registry[T]) get(name string) *T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if it := s.items[name]; it != nil {
		return it.feat
	}
	return nil
}

// all returns the features in order. They stay as they are when the shelf
// changes.
func (s *registry[T]) all() []*item[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.order
}

// end returns the last place that was ever given away.
func (s *registry[T]) end() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last
}

// used reports whether there is, or ever was, a feature.
func (s *registry[T]) used() bool { return s.ever.Load() }

// list serves one page.
func list[T any](s *Server, c *mcp.Call, from *registry[T]) (mcp.Result, error) {
	if !s.lists(from.kind) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	place, err := readCursor(c.Params, from.kind)
	if err == nil && place > from.end() {
		err = badCursor()
	}
	if err != nil {
		return mcp.Result{}, err
	}
	var body json.RawMessage
	if s.opts.Allow == nil {
		body = from.page(place, s.opts.PageSize)
	} else {
		rest := from.all()
		rest = rest[after(rest, place):]
		allowed := make([]*item[T], 0, min(len(rest), s.opts.PageSize+1))
		for _, it := range rest {
			if len(allowed) <= s.opts.PageSize && s.allows(&c.Caller, from.kind, it.name) {
				allowed = append(allowed, it)
			}
		}
		body = from.build(allowed, s.opts.PageSize)
	}
	return mcp.Result{Body: body, Cache: s.opts.ListCache}, nil
}

// lists reports whether the capability for a kind of feature is offered.
func (s *Server) lists(k Kind) bool {
	said := &s.opts.Capabilities
	switch k {
	case KindTool:
		return s.tools.used() || said.Tools != nil
	case KindPrompt:
		return s.prompts.used() || said.Prompts != nil
	}
	return s.resources.used() || s.templates.used() || said.Resources != nil
}

// page returns the page behind a place, which is the same for everybody.
func (s *registry[T]) page(place int64, size int) json.RawMessage {
	s.mu.RLock()
	body := s.pages[place]
	s.mu.RUnlock()
	if body != nil {
		return body
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := after(s.order, place)
	body = s.build(s.order[i:], size)
	// Only pages that follow each other from the first one are kept. Cursors
	// can be made up, and a page for each of them would fill the memory.
	if i%size == 0 && (i == 0 && place == 0 || i > 0 && s.order[i-1].place == place) {
		if s.pages == nil {
			s.pages = map[int64]json.RawMessage{}
		}
		s.pages[place] = body
	}
	return body
}

// build writes a page that begins with the first of the items.
func (s *registry[T]) build(items []*item[T], size int) json.RawMessage {
	some := items[:min(size, len(items))]
	length := len(s.member) + 64
	for _, it := range some {
		length += len(it.line) + 1
	}
	body := append(make([]byte, 0, length), '{')
	body = append(rawjson.AppendString(body, s.member), ':', '[')
	for i, it := range some {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, it.line...)
	}
	body = append(body, ']')
	if len(some) < len(items) {
		body = appendCursor(body, s.kind, some[size-1].place)
	}
	return append(body, '}')
}

// A cursor names a kind and a place, with a checksum, so that one that was
// damaged or made up is not taken for the place of another page. It says the
// same in every process that adds the same features in the same order. Nothing
// but this file reads it.
func appendCursor(dst []byte, k Kind, place int64) []byte {
	return rawjson.AppendString(append(dst, `,"nextCursor":`...), cursor(k, place))
}

func cursor(k Kind, place int64) string {
	text := string(k) + " " + strconv.FormatInt(place, 36)
	return fmt.Sprintf("%s.%08x", text, crc32.ChecksumIEEE([]byte(text)))
}

func badCursor() error {
	return mcp.InvalidParams("the cursor was not made by this list: ask for the first page, without a cursor")
}

func readCursor(params json.RawMessage, k Kind) (place int64, err error) {
	raw := rawjson.Lookup(params, "cursor")
	if raw == nil {
		return 0, nil
	}
	text, _ := rawjson.String(raw)
	if rest, ok := strings.CutPrefix(text, string(k)+" "); ok {
		digits, _, _ := strings.Cut(rest, ".")
		if place, err = strconv.ParseInt(digits, 36, 64); err == nil && place > 0 && text == cursor(k, place) {
			return place, nil
		}
	}
	return 0, badCursor()
}
