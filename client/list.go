package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Tools goes over the tools of the server, asking for pages as it needs them.
// After an error there is nothing more.
//
// In this and all other lists, items that cannot be used are left out, and so
// is every item but the first of those with the same name; Options.Warn hears
// of them. A list that does not end (a cursor that comes again, more pages or
// items than allowed) is an error after the items that there were.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*mcp.Tool, error] {
	l := listing[mcp.Tool]{mcp.MethodToolsList, "tools", func(t *mcp.Tool) string { return t.Name }}
	return func(yield func(*mcp.Tool, error) bool) {
		listed := make(map[string]bool)
		for t, err := range l.finished(ctx, c) {
			if err == nil {
				listed[t.Name] = true
				c.outputs.learn(t)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		c.outputs.store(listed)
	}
}

// Resources goes over the resources of the server, as [Client.Tools] does.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*mcp.Resource, error] {
	return listing[mcp.Resource]{mcp.MethodResourcesList, "resources", func(r *mcp.Resource) string { return r.URI }}.finished(ctx, c)
}

// ResourceTemplates goes over the resource templates of the server, as
// [Client.Tools] does.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*mcp.ResourceTemplate, error] {
	return listing[mcp.ResourceTemplate]{mcp.MethodResourceTemplatesList, "resourceTemplates", func(r *mcp.ResourceTemplate) string { return r.URITemplate }}.finished(ctx, c)
}

// Prompts goes over the prompts of the server, as [Client.Tools] does.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*mcp.Prompt, error] {
	return listing[mcp.Prompt]{mcp.MethodPromptsList, "prompts", func(p *mcp.Prompt) string { return p.Name }}.finished(ctx, c)
}

// All collects a list. With an error come the items before it.
func All[T any](list iter.Seq2[*T, error]) ([]*T, error) {
	var all []*T
	for item, err := range list {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}

// A listing is a method that lists things.
type listing[T any] struct {
	method, member string
	key            func(*T) string // what must be there and be unique
}

func (l listing[T]) finished(ctx context.Context, c *Client) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		w := walk[T]{listing: l, client: c, seen: make(map[string]bool), cursors: make(map[uint64]bool)}
		for !w.last {
			items, err := w.next(ctx)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// A walk is one way over all pages of a list.
type walk[T any] struct {
	listing[T]
	client    *Client
	cursor    *string // of the next page
	last      bool    // there is no next page
	pages     int
	items     int
	seen      map[string]bool // keys of items
	cursors   map[uint64]bool // hashes: a cursor may be as long as a message
	collected bool            // some page was a kept result
	again     bool            // the list is read again from its first page
}

// next returns the items of the next page. With an error come the items that
// are still good.
func (w *walk[T]) next(ctx context.Context) ([]*T, error) {
	if w.pages++; w.pages > w.client.opts.MaxPages {
		return nil, w.endless("it has more than %d pages", w.client.opts.MaxPages)
	}
	var params json.RawMessage
	if w.cursor != nil {
		params = append(rawjson.AppendString([]byte(`{"cursor":`), *w.cursor), '}')
	}
	res, kept, err := w.client.do(ctx, w.method, "", params, nil)
	if err != nil {
		if w.outdated(err) {
			return nil, nil
		}
		return nil, err
	}
	w.collected = w.collected || kept
	body, err := whole(w.method, "", res)
	if err != nil {
		return nil, err
	}
	list := rawjson.Lookup(body, w.member)
	if !rawjson.IsArray(list) {
		return nil, invalid(w.method, "", "%s: expected an array", w.member)
	}
	if err := w.turn(rawjson.Lookup(body, "nextCursor")); err != nil {
		return w.usable(list), err
	}
	items := w.usable(list)
	if w.items > w.client.opts.MaxItems {
		return items[:max(0, len(items)-(w.items-w.client.opts.MaxItems))], w.endless("it has more than %d items", w.client.opts.MaxItems)
	}
	return items, nil
}

// turn reads where the next page begins. The empty string is a cursor.
func (w *walk[T]) turn(next []byte) error {
	if next == nil || rawjson.IsNull(next) {
		w.last = true
		return nil
	}
	cursor, ok := rawjson.String(next)
	if !ok {
		return invalid(w.method, "", "nextCursor: expected a string")
	}
	h := maphash.String(seed, cursor)
	if w.cursors[h] {
		return w.endless("the cursor %s came twice", quote(cursor))
	}
	w.cursors[h] = true
	w.cursor = &cursor
	return nil
}

var seed = maphash.MakeSeed()

// outdated reports whether err says that a cursor from a kept page is no longer
// good. The walk then begins anew, once; what was told is not told again.
func (w *walk[T]) outdated(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Local || e.Code != mcp.CodeInvalidParams || w.cursor == nil || !w.collected || w.again {
		return false
	}
	w.client.cache.drop(w.method)
	w.cursor, w.again = nil, true
	clear(w.cursors)
	return true
}

// usable returns the items of a page that can be used and were not told before.
func (w *walk[T]) usable(list json.RawMessage) []*T {
	good, bad := mcp.DecodeEach[T](list)
	w.items += len(good) + len(bad)
	for _, err := range bad {
		w.client.opts.warn(fmt.Sprintf("left out of %s: %s%v", w.method, w.member, err))
	}
	items := make([]*T, 0, len(good))
	for i := range good {
		switch key := w.key(&good[i]); {
		case key == "":
			w.client.opts.warn(fmt.Sprintf("left out of %s: an item without the name or URI that it needs", w.method))
		case w.seen[key]:
			if !w.again {
				w.client.opts.warn(fmt.Sprintf("left out of %s: another item with the name %s", w.method, quote(key)))
			}
		default:
			w.seen[key] = true
			items = append(items, &good[i])
		}
	}
	return items
}

func (w *walk[T]) endless(format string, args ...any) error {
	w.last = true
	return &mcp.Error{Code: mcp.CodeInternal, Local: true,
		Message: fmt.Sprintf("gave up on %s: the list does not seem to end: %s", w.method, fmt.Sprintf(format, args...))}
}
