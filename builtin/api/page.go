package api

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// pages is compiled paging.
type pages struct {
	kind, param, in                  string
	items, cursor, more              *expr.Query
	start                            int
	sizeParam                        string
	sizeMax                          int
	maxItems, defaultItems, maxPages int
}

func (c *compiler) pages(path string, p *spec.Paginate, r *request) *pages {
	items := p.Items
	if items == "" && p.Kind == "odata" {
		items = ".value"
	}
	if items == "" {
		items = "."
	}
	out := &pages{
		kind: p.Kind, param: p.Param, in: p.In, start: p.Start, maxItems: or(p.MaxItems, 100), maxPages: or(p.MaxPages, 10),
		items: c.query(path+".items", items), cursor: c.query(path+".cursor", p.Cursor), more: c.query(path+".more", p.More),
	}
	out.defaultItems = min(or(p.DefaultItems, 30), out.maxItems)
	if out.in == "" {
		out.in = "query"
	}
	if p.Size != nil {
		out.sizeParam, out.sizeMax = p.Size.Param, or(p.Size.Max, 100)
	}
	switch p.Kind {
	case "cursor":
		if p.Cursor == "" || p.Param == "" {
			c.needs(path, "kind cursor needs cursor (jq on the body) and param (the parameter of the request)")
		}
	case "page", "offset":
		if p.Param == "" || p.Size == nil && p.More == "" {
			c.needs(path, "kind %s needs param, and size or more", p.Kind)
		}
	}
	if out.kind == "page" && p.Start == 0 && !c.file.Has(path+".start") {
		out.start = 1
	}
	switch {
	case out.in == "form" && r.form == nil || out.in == "body" && r.body == nil:
		c.needs(path[:strings.LastIndexByte(path, '.')]+".request", "has no %s, where paginate puts its parameters", out.in)
	case out.in == "body" && !r.body.MayBeObject():
		c.fail(path+".in", "the body of the request is not an object")
	}
	if q := out.items; q != nil && !q.CountsItems() && (p.Kind == "offset" || p.Kind == "page" && p.More == "") {
		c.fail(path+".items", "kind %s counts the items of a page, so that items must not leave out any: use a path such as .data here, and select in output.jq", p.Kind)
	}
	return out
}

func or(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// A place is where the next item is: a page, and the number of its items that were
// used already.
type place struct {
	Page   string `json:"p,omitzero"` // a URL, a cursor, or a number; empty means the first page
	Number bool   `json:"i,omitzero"` // the cursor is a number, and is sent as one
	Skip   int    `json:"s,omitzero"`
	Size   int    `json:"n,omitzero"`
}

// gather requests pages until there are enough items. next is nil if there are no
// more. If a page after the first one fails, it returns the error together with the
// items before that page and its place.
func (v *service) gather(ctx context.Context, call *mcp.Call, s *step, sc *scope, from place, limit int) (items []any, next *place, last *answer, err error) {
	p := s.page
	at := from
	if at.Size == 0 {
		at.Size = min(limit, max(p.sizeMax, 1))
	}
	seen := map[string]bool{}
	items = []any{}
	for range p.maxPages {
		if seen[at.Page] {
			return nil, nil, nil, fmt.Errorf("%s returned the same page again", v.title)
		}
		seen[at.Page] = true
		a, found, err := v.fetchItems(ctx, call, s, sc, at)
		if err != nil {
			return items, &at, last, err
		}
		last = a
		rest := found[min(at.Skip, len(found)):]
		if room := limit - len(items); len(rest) > room {
			at.Skip += room
			return append(items, rest[:room]...), &at, last, nil
		}
		items = append(items, rest...)
		if next, err = v.nextPage(ctx, p, sc, last, at, len(found)); err != nil || next == nil || len(items) >= limit {
			return items, next, last, err
		}
		at = *next
		if s.reports {
			server.Progress(call, float64(len(items)), float64(limit), "")
		}
	}
	return items, next, last, nil
}

// fetchItems requests one page and returns its items.
func (v *service) fetchItems(ctx context.Context, call *mcp.Call, s *step, sc *scope, at place) (*answer, []any, error) {
	a, err := v.fetchPage(ctx, call, s, sc, at)
	if err != nil {
		return nil, nil, err
	}
	found, err := v.itemsOf(ctx, s.page, sc, a)
	return a, found, err
}

func (v *service) itemsOf(ctx context.Context, p *pages, sc *scope, a *answer) ([]any, error) {
	found, err := p.items.One(ctx, a.body, &sc.vars)
	if err != nil {
		return nil, v.unexpected(err)
	}
	list, ok := found.([]any)
	if !ok && found != nil {
		return nil, v.unexpected(fmt.Errorf("the items of a page are not an array"))
	}
	return list, nil
}

// unexpected says that a response has not the form that the file describes. It
// leaves out the jq, which a model cannot change.
func (v *service) unexpected(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: the answer has not the expected form: %s", v.title, v.clip(valueInError.ReplaceAllString(err.Error(), ""), 200))
}

// valueInError matches what gojq appends to an error: data of the API, which the
// model shall not take for words of the server.
var valueInError = regexp.MustCompile(`(?s) \(.*\)$`)

// fetchPage requests one page.
func (v *service) fetchPage(ctx context.Context, call *mcp.Call, s *step, sc *scope, at place) (*answer, error) {
	p := s.page
	inner := *sc
	if p.sizeParam != "" {
		inner.extra = append(inner.extra, extra{p.in, p.sizeParam, at.Size})
	}
	switch p.kind {
	case "link", "odata":
		if at.Page != "" {
			return v.fetchLink(ctx, call, s, &inner, at.Page)
		}
	case "page", "offset":
		inner.extra = append(inner.extra, extra{p.in, p.param, p.number(at)})
	case "cursor":
		var cursor any = at.Page
		if v, err := expr.Decode([]byte(at.Page)); err == nil && at.Number {
			cursor = v
		}
		if at.Page != "" {
			inner.extra = append(inner.extra, extra{p.in, p.param, cursor})
		}
	}
	a, err := v.send(ctx, call, s, &inner)
	sc.vars.Status, sc.vars.Headers = inner.vars.Status, inner.vars.Headers
	return a, err
}

// fetchLink requests a page by its URL.
func (v *service) fetchLink(ctx context.Context, call *mcp.Call, s *step, sc *scope, link string) (*answer, error) {
	target, err := url.Parse(link)
	if err != nil {
		return nil, fmt.Errorf("%s: the link to the next page is not valid", v.title)
	}
	r, err := v.build(ctx, s.request, sc)
	if err != nil {
		return nil, err
	}
	r.URL = v.base.ResolveReference(target)
	return v.exchange(ctx, call, s, sc, r)
}

// nextPage returns the place of the page after a response, or nil.
func (v *service) nextPage(ctx context.Context, p *pages, sc *scope, a *answer, at place, found int) (*place, error) {
	if p.more != nil {
		if yes, err := p.more.True(ctx, a.body, &sc.vars); err != nil {
			return nil, v.unexpected(err)
		} else if !yes {
			return nil, nil
		}
	}
	next, number := "", false
	switch p.kind {
	case "link":
		next = nextLink(a.header.Values("Link"))
	case "odata":
		if body, ok := a.body.(map[string]any); ok {
			next, _ = body["@odata.nextLink"].(string)
		}
	case "cursor":
		found, err := p.cursor.One(ctx, a.body, &sc.vars)
		if err != nil {
			return nil, v.unexpected(err)
		}
		next = expr.Text(found)
		_, isText := found.(string)
		number = !isText
	case "page", "offset":
		next = p.following(at, found)
	}
	if next == "" {
		return nil, nil
	}
	if p.kind == "link" || p.kind == "odata" {
		target, err := a.url.Parse(next)
		if err == nil {
			err = v.client.Allowed(target)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the link to the next page is refused: %w", v.title, err)
		}
		credential.Strip(v.client.Credential, target)
		next = target.String()
	}
	return &place{Page: next, Number: number, Size: at.Size}, nil
}

// number returns the number of a page, or its offset.
func (p *pages) number(at place) int {
	if n, err := strconv.Atoi(at.Page); err == nil {
		return n
	}
	return p.start
}

// following returns the number of the page, or the offset, after a page with some
// items; "" if it was the last one.
func (p *pages) following(at place, found int) string {
	switch {
	case p.more == nil && (found == 0 || p.sizeParam != "" && found < at.Size):
		return ""
	case p.kind == "page":
		return strconv.Itoa(p.number(at) + 1)
	case found == 0:
		return ""
	}
	return strconv.Itoa(p.number(at) + found)
}

// nextLink returns the URL with rel="next" of Link headers (RFC 8288).
func nextLink(headers []string) string {
	for _, h := range headers {
		for h != "" {
			start := strings.IndexByte(h, '<')
			end := strings.IndexByte(h, '>')
			if start < 0 || end < start {
				break
			}
			target := h[start+1 : end]
			params, rest, _ := strings.Cut(h[end+1:], ",")
			for _, param := range strings.Split(params, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
				if strings.EqualFold(name, "rel") && strings.EqualFold(strings.Trim(value, `"`), "next") {
					return target
				}
			}
			h = rest
		}
	}
	return ""
}
