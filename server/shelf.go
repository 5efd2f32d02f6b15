package server

import (
	"encoding/json"
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
type shelf[T any] struct {
	kind   Kind
	member string // under which a page lists them

	mu    sync.RWMutex
	items map[string]*item[T]
	order []*item[T]  // by place
	last  int64       // the last place that was given away
	ever  atomic.Bool // there was a feature once
	pages map[int64]json.RawMessage
}

// An item has a place that it keeps, so that a cursor stays good while others
// come and go.
type item[T any] struct {
	name  string
	place int64
	spec  any             // what the list says of it
	raw   json.RawMessage // the same, encoded when it was first listed
	feat  *T
}

// put adds a feature, or takes the place of the one with its name.
func (s *shelf[T]) put(name string, spec any, f *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = nil
	now := &item[T]{name: name, spec: spec, feat: f}
	if old := s.items[name]; old != nil {
		now.place = old.place
		s.order[s.at(old.place)] = now
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

// drop removes features and reports whether there were any.
func (s *shelf[T]) drop(names []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropped := false
	for _, name := range names {
		if it := s.items[name]; it != nil {
			i := s.at(it.place)
			s.order = slices.Delete(s.order, i, i+1)
			delete(s.items, name)
			dropped = true
		}
	}
	if dropped {
		s.pages = nil
	}
	return dropped
}

// at finds the first item whose place is not before place.
func (s *shelf[T]) at(place int64) int {
	i, _ := slices.BinarySearchFunc(s.order, place, func(it *item[T], p int64) int { return int(it.place - p) })
	return i
}

// get returns a feature, or nil.
func (s *shelf[T]) get(name string) *T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if it := s.items[name]; it != nil {
		return it.feat
	}
	return nil
}

// all returns the features in order.
func (s *shelf[T]) all() []*T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*T, len(s.order))
	for i, it := range s.order {
		out[i] = it.feat
	}
	return out
}

// used reports whether there is, or ever was, a feature.
func (s *shelf[T]) used() bool { return s.ever.Load() }

// list serves one page.
func list[T any](s *Server, c *mcp.Call, from *shelf[T]) (mcp.Result, error) {
	if !s.lists(from.kind) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	after, err := readCursor(c.Params, from.kind)
	if err != nil {
		return mcp.Result{}, err
	}
	var body json.RawMessage
	if s.opts.Allow == nil {
		body, err = from.page(after, s.opts.PageSize)
	} else {
		from.mu.Lock()
		body, err = from.build(after, s.opts.PageSize, func(name string) bool { return s.allows(&c.Caller, from.kind, name) })
		from.mu.Unlock()
	}
	return mcp.Result{Body: body, Cache: s.opts.ListCache}, err
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

// page returns a page that is the same for everybody.
func (s *shelf[T]) page(after int64, size int) (json.RawMessage, error) {
	s.mu.RLock()
	body := s.pages[after]
	s.mu.RUnlock()
	if body != nil {
		return body, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := s.build(after, size, nil)
	if err != nil {
		return nil, err
	}
	if s.pages == nil {
		s.pages = map[int64]json.RawMessage{}
	}
	if i := s.at(after); after == 0 || i < len(s.order) && s.order[i].place == after { // no cursor that was made up is worth keeping
		s.pages[after] = body
	}
	return body, nil
}

// build encodes the page after a place. s.mu is held.
func (s *shelf[T]) build(after int64, size int, allowed func(name string) bool) (json.RawMessage, error) {
	body := append(rawjson.AppendString([]byte{'{'}, s.member), ':', '[')
	n, last := 0, int64(0)
	for _, it := range s.order[s.at(after+1):] {
		if allowed != nil && !allowed(it.name) {
			continue
		}
		if n == size {
			return append(appendCursor(append(body, ']'), s.kind, last), '}'), nil
		}
		if it.raw == nil {
			raw, err := mcp.Marshal(it.spec)
			if err != nil {
				return nil, err
			}
			it.raw = raw
		}
		if n > 0 {
			body = append(body, ',')
		}
		body = append(body, it.raw...)
		n, last = n+1, it.place
	}
	return append(body, ']', '}'), nil
}

// A cursor names a kind and a place. Nobody but this file reads it.
func appendCursor(dst []byte, k Kind, place int64) []byte {
	return rawjson.AppendString(append(dst, `,"nextCursor":`...), string(k)+" "+strconv.FormatInt(place, 36))
}

func readCursor(params json.RawMessage, k Kind) (after int64, err error) {
	raw := rawjson.Lookup(params, "cursor")
	if raw == nil {
		return 0, nil
	}
	text, _ := rawjson.String(raw)
	if digits, ok := strings.CutPrefix(text, string(k)+" "); ok {
		if after, err = strconv.ParseInt(digits, 36, 64); err == nil && after > 0 && strconv.FormatInt(after, 36) == digits {
			return after, nil
		}
	}
	return 0, mcp.InvalidParams("the cursor was not made by this list: ask for the first page, without a cursor")
}
