package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A registry holds the features of one kind in the order in which they were
// added. It encodes each page of its list once and reuses it until the registry
// changes.
type registry[T any] struct {
	kind   Kind
	member string // the member of a page that lists the features

	mu    sync.RWMutex
	items map[string]*item[T]
	order []*item[T]                // by position; elements are never overwritten, so that it can be read without the lock
	last  int64                     // the last position assigned
	ever  atomic.Bool               // a feature was added once
	pages map[int64]json.RawMessage // by the position that they follow
}

// An item keeps its position, so that a cursor stays valid while other features
// are added and removed.
type item[T any] struct {
	name     string
	position int64
	line     json.RawMessage // the list entry
	feat     *T
}

// put adds a feature, or replaces the one with the same name. line is its list
// entry, encoded by the caller so that encoding errors appear early.
func (s *registry[T]) put(name string, line json.RawMessage, f *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = nil
	now := &item[T]{name: name, line: line, feat: f}
	if old := s.items[name]; old != nil {
		now.position = old.position
		s.order = slices.Clone(s.order)
		s.order[after(s.order, old.position)-1] = now
	} else {
		s.ever.Store(true)
		s.last++
		now.position = s.last
		s.order = append(s.order, now)
	}
	if s.items == nil {
		s.items = map[string]*item[T]{}
	}
	s.items[name] = now
}

// drop removes features and returns how many of them existed.
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

// after returns the index of the first item behind a position.
func after[T any](order []*item[T], position int64) int {
	i, _ := slices.BinarySearchFunc(order, position+1, func(it *item[T], p int64) int { return cmp.Compare(it.position, p) })
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

// all returns the features in order. Later changes do not affect the slice.
func (s *registry[T]) all() []*item[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.order
}

// end returns the last position assigned.
func (s *registry[T]) end() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last
}

// used reports whether a feature was ever added.
func (s *registry[T]) used() bool { return s.ever.Load() }

// list serves one page of a list.
func list[T any](s *Server, c *mcp.Call, from *registry[T]) (mcp.Result, error) {
	if !s.lists(from.kind) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	position, err := readCursor(c.Params, from.kind)
	if err == nil && position > from.end() {
		err = badCursor()
	}
	if err != nil {
		return mcp.Result{}, err
	}
	var body json.RawMessage
	if s.opts.Allow == nil {
		body = from.page(position, s.opts.PageSize)
	} else {
		rest := from.all()
		rest = rest[after(rest, position):]
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
	return s.resources.used() || s.unlisted.used() || s.templates.used() || said.Resources != nil
}

// page returns the page behind a position, which is the same for all callers.
func (s *registry[T]) page(position int64, size int) json.RawMessage {
	s.mu.RLock()
	body := s.pages[position]
	s.mu.RUnlock()
	if body != nil {
		return body
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := after(s.order, position)
	body = s.build(s.order[i:], size)
	// Cache only the consecutive pages from the first one: a client can send
	// any cursor, and caching a page for each would fill the memory.
	if i%size == 0 && (i == 0 && position == 0 || i > 0 && s.order[i-1].position == position) {
		if s.pages == nil {
			s.pages = map[int64]json.RawMessage{}
		}
		s.pages[position] = body
	}
	return body
}

// build encodes a page that starts with the first of the items.
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
		body = appendCursor(body, s.kind, some[size-1].position)
	}
	return append(body, '}')
}

// A cursor consists of a kind, a position and a checksum, so that damaged or
// invented cursors are detected. It is the same in every process that adds the
// same features in the same order. Only this file interprets it.
func appendCursor(dst []byte, k Kind, position int64) []byte {
	return rawjson.AppendString(append(dst, `,"nextCursor":`...), cursor(k, position))
}

func cursor(k Kind, position int64) string {
	text := string(k) + " " + strconv.FormatInt(position, 36)
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(text)) // never fails
	return fmt.Sprintf("%s.%08x", text, sum.Sum32())
}

func badCursor() error {
	return mcp.InvalidParams("cursor: not a cursor of this list; request the first page without a cursor")
}

func readCursor(params json.RawMessage, k Kind) (position int64, err error) {
	raw := rawjson.Lookup(params, "cursor")
	if raw == nil {
		return 0, nil
	}
	text, _ := rawjson.String(raw)
	if rest, ok := strings.CutPrefix(text, string(k)+" "); ok {
		digits, _, _ := strings.Cut(rest, ".")
		if position, err = strconv.ParseInt(digits, 36, 64); err == nil && position > 0 && text == cursor(k, position) {
			return position, nil
		}
	}
	return 0, badCursor()
}
