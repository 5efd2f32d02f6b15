package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Tools iterates over the tools of the server and requests pages as needed. An
// error ends the iteration.
//
// This and the other lists skip items that are invalid or have the same name as
// an earlier one, with a call to Options.Warn. A list that does not end (a
// repeated cursor, more pages or items than allowed) is an error after the last
// valid item.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*mcp.Tool, error] {
	l := listing[mcp.Tool]{method: mcp.MethodToolsList, member: "tools", key: func(t *mcp.Tool) string { return t.Name }}
	return func(yield func(*mcp.Tool, error) bool) {
		listed := make(map[string]bool)
		for t, err := range l.all(ctx, c) {
			if err == nil {
				listed[t.Name] = true
				c.outputs.learn(t)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		c.outputs.retain(listed)
	}
}

// Resources iterates over the resources of the server, like [Client.Tools].
func (c *Client) Resources(ctx context.Context) iter.Seq2[*mcp.Resource, error] {
	return listing[mcp.Resource]{method: mcp.MethodResourcesList, member: "resources", key: func(r *mcp.Resource) string { return r.URI }}.all(ctx, c)
}

// ResourceTemplates iterates over the resource templates of the server, like
// [Client.Tools].
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*mcp.ResourceTemplate, error] {
	return listing[mcp.ResourceTemplate]{method: mcp.MethodResourceTemplatesList, member: "resourceTemplates", key: func(r *mcp.ResourceTemplate) string { return r.URITemplate }}.all(ctx, c)
}

// Prompts iterates over the prompts of the server, like [Client.Tools].
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*mcp.Prompt, error] {
	return listing[mcp.Prompt]{method: mcp.MethodPromptsList, member: "prompts", key: func(p *mcp.Prompt) string { return p.Name }}.all(ctx, c)
}

// List iterates over the items of a list that an extension defines, like
// [Client.Tools]. Params are those of each request besides the cursor, encoded
// as a JSON object; nil means none. Member is the member of the result that
// holds the items, and key returns what identifies an item.
func List[T any](ctx context.Context, c *Client, method string, params any, member string, key func(*T) string) iter.Seq2[*T, error] {
	raw, err := object(params, mcp.Marshal)
	if err != nil {
		return func(yield func(*T, error) bool) { yield(nil, refused("parameters of %s: %v", method, err)) }
	}
	return listing[T]{method, raw, member, key}.all(ctx, c)
}

// All collects the items of a list. If there is an error, it also returns the
// items before it.
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

// A listing describes a method that returns a list.
type listing[T any] struct {
	method string
	params json.RawMessage // without a cursor; nil means none
	member string
	key    func(*T) string // must be present and unique
}

func (l listing[T]) all(ctx context.Context, c *Client) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		w := pager[T]{listing: l, client: c, seen: make(map[string]bool), cursors: make(map[uint64]bool)}
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

// A pager iterates over the pages of a list.
type pager[T any] struct {
	listing[T]
	client  *Client
	cursor  *string // of the next page
	last    bool    // there is no next page
	pages   int
	items   int
	seen    map[string]bool // keys of items
	cursors map[uint64]bool // hashes, because a cursor may be long
	cached  bool            // a page was a cached result
	again   bool            // the pager has restarted
}

// next returns the items of the next page. If there is an error, it also
// returns the items that are valid.
func (w *pager[T]) next(ctx context.Context) ([]*T, error) {
	if w.pages++; w.pages > w.client.opts.MaxPages {
		return nil, w.endless("more than %d pages", w.client.opts.MaxPages)
	}
	params := w.params
	if w.cursor != nil {
		params = append(rawjson.AppendString([]byte(`{"cursor":`), *w.cursor), '}')
		if rest := rawjson.Inside(w.params); len(rest) > 0 {
			params = append(append(params[:len(params)-1], ','), rest...)
			params = append(params, '}')
		}
	}
	res, cached, err := w.client.do(ctx, w.method, "", params, nil)
	if err != nil {
		if w.outdated(err) {
			return nil, nil
		}
		return nil, err
	}
	w.cached = w.cached || cached
	body, err := completeBody(w.method, "", res)
	if err != nil {
		return nil, err
	}
	list := rawjson.Lookup(body, w.member)
	if !rawjson.IsArray(list) {
		return nil, invalid(w.method, "", "%s: expected an array", w.member)
	}
	if err := w.readCursor(rawjson.Lookup(body, "nextCursor")); err != nil {
		return w.usable(list), err
	}
	items := w.usable(list)
	if w.items > w.client.opts.MaxItems {
		return items[:max(0, len(items)-(w.items-w.client.opts.MaxItems))], w.endless("more than %d items", w.client.opts.MaxItems)
	}
	return items, nil
}

// readCursor reads the cursor of the next page. The empty string is a cursor.
func (w *pager[T]) readCursor(next []byte) error {
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
		return w.endless("repeated cursor %s", quote(cursor))
	}
	w.cursors[h] = true
	w.cursor = &cursor
	return nil
}

var seed = maphash.MakeSeed()

// outdated reports whether err means that a cursor from a cached page is no
// longer valid. The pager then restarts, once, and skips the items already
// returned.
func (w *pager[T]) outdated(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Local || e.Code != mcp.CodeInvalidParams || w.cursor == nil || !w.cached || w.again {
		return false
	}
	w.client.cache.drop(w.method)
	w.cursor, w.again = nil, true
	clear(w.cursors)
	return true
}

// usable returns the valid items of a page that were not returned before.
func (w *pager[T]) usable(list json.RawMessage) []*T {
	good, bad := protocol.DecodeEach[T](list)
	w.items += len(good) + len(bad)
	for _, err := range bad {
		w.client.opts.warn(fmt.Sprintf("%s: skipped %s%v", w.method, w.member, err))
	}
	items := make([]*T, 0, len(good))
	for i := range good {
		switch key := w.key(&good[i]); {
		case key == "":
			w.client.opts.warn(fmt.Sprintf("%s: skipped an item without a name or URI", w.method))
		case w.seen[key]:
			if !w.again {
				w.client.opts.warn(fmt.Sprintf("%s: skipped another item with the name %s", w.method, quote(key)))
			}
		default:
			w.seen[key] = true
			items = append(items, &good[i])
		}
	}
	return items
}

func (w *pager[T]) endless(format string, args ...any) error {
	w.last = true
	return &mcp.Error{Code: mcp.CodeInternal, Local: true,
		Message: fmt.Sprintf("%s: the list does not end: %s", w.method, fmt.Sprintf(format, args...))}
}
