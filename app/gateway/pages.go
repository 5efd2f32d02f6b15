package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// readPages reads all pages of a list and calls add with each. c has the method of
// the list. A list without end is an error: one that has too many pages, that
// repeats a cursor, or, if limit is not 0, whose pages are longer than limit bytes.
func readPages(ctx context.Context, c mcp.Call, limit int, serve func(context.Context, *mcp.Call) (mcp.Result, error), add func(mcp.Result) error) error {
	c.Params = nil
	var seen map[string]bool // cursors
	size := 0
	for range maxPages {
		res, err := serve(ctx, &c)
		if err == nil {
			err = add(res)
		}
		if err != nil {
			return err
		}
		cursor := rawjson.Lookup(res.Body, "nextCursor")
		if cursor == nil || rawjson.IsNull(cursor) {
			return nil
		}
		if size += len(res.Body); limit > 0 && size > limit {
			return errTooLong
		}
		if seen[string(cursor)] {
			return errRepeats
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		seen[string(cursor)] = true
		c.Params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return errTooManyPages
}

// pages collects the pages of a list of one server.
type pages struct {
	u     *upstream
	l     listKind
	items []byte // the elements, with commas in between
	short map[string]string
	ttl   time.Duration

	overrides *overrides
	seen      map[string]bool     // names without Overrides
	texts     map[string]Override // those with texts, by the name that clients see
}

func newPages(u *upstream, l listKind) *pages {
	return &pages{u: u, l: l, overrides: u.r.overridesOf(l.kind), seen: map[string]bool{}, texts: map[string]Override{}}
}

// read reads all pages with a call.
func (p *pages) read(ctx context.Context, c mcp.Call) error {
	p.ttl = time.Hour
	err := readPages(ctx, c, 0, p.u.serve, func(res mcp.Result) error {
		p.ttl = min(p.ttl, res.Cache.TTL)
		p.add(res.Body)
		if len(p.items) > maxItems {
			return errTooLong
		}
		return nil
	})
	switch {
	case err != nil && hasNone(err) && protocol.IsCore(c.Method):
		return nil
	case err == nil:
		p.declareTasks()
	}
	return err
}

// hasNone reports whether a server says that it does not have the method.
func hasNone(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Code == mcp.CodeMethodNotFound
}

// add adds a page, with the names that clients see.
func (p *pages) add(body []byte) {
	body, _ = protocol.RenameNames(p.l.method, mcp.InResult, "", body, func(kind, name string) (string, error) {
		if kind == p.l.kind {
			return p.name(name), nil
		}
		return p.u.outward(kind, name), nil
	})
	page := elements(rawjson.Lookup(body, p.l.member))
	if p.l.kind != "" {
		page = p.visible(page)
	}
	if len(page) == 0 {
		return
	}
	if len(p.items) > 0 {
		p.items = append(p.items, ',')
	}
	p.items = append(p.items, page...)
}

// name returns the name that clients see for a tool or prompt; notOurs if they do
// not see it.
func (p *pages) name(own string) string {
	joined := toolname.Join(p.u.name, own, 0)
	if p.seen[joined] {
		p.u.warnOnce("gateway: a server lists a name twice; the second is left out", joined)
		return notOurs
	}
	p.seen[joined] = true
	if joined != p.u.name+"__"+own {
		if p.short == nil {
			p.short = map[string]string{}
		}
		p.short[joined] = own
	}
	v := p.overrides.find(p.u, own)
	out, ok := p.overrides.outward(p.u, own)
	if ok {
		if v.Title != "" || v.Description != "" {
			p.texts[out] = v
		}
		return out
	}
	if !v.Hidden {
		p.u.warnOnce("gateway: the configuration gives the name of this tool or prompt to another one; it is left out", joined)
	}
	return notOurs
}

// warnUnused logs the Overrides for names that the server does not list. The one
// who wrote them may think that a tool is hidden.
func (p *pages) warnUnused() {
	if p.l.kind == "" {
		return
	}
	for key := range p.overrides.of {
		if own, ok := strings.CutPrefix(key, p.u.name+"__"); ok && !p.seen[key] && !p.seen[toolname.Join(p.u.name, own, 0)] {
			p.u.warnOnce("gateway: the configuration names a "+p.l.kind+" that the server does not list, or that is held back", key)
		}
	}
}

// visible returns the elements that clients see, with the texts of Overrides.
func (p *pages) visible(items []byte) []byte {
	if len(p.texts) > 0 {
		list := append(append([]byte{'['}, items...), ']')
		items = elements(rawjson.RewriteElements(list, func(item []byte) []byte {
			_, name := p.l.nameOf(item)
			return p.texts[name].rewrite(item)
		}))
	}
	if !bytes.Contains(items, notOursJSON) {
		return items
	}
	return p.l.kept(items, func(_, name string) bool { return name != notOurs })
}

// notOursJSON is what a string with notOurs contains.
var notOursJSON = bytes.Trim(rawjson.AppendString(nil, notOurs), `"`)

// tasksExtension is the extension for tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// declareTasks says of each tool that it may run as a task, if the server
// declares tasks and says nothing about any tool. Otherwise the statements of
// other servers in the merged list would forbid it: a client of 2025-11-25 takes
// a tool without a statement for one that cannot.
func (p *pages) declareTasks() {
	found := p.u.discovered()
	if p.l.method != mcp.MethodToolsList || found == nil || found.Capabilities.Extensions[tasksExtension] == nil {
		return
	}
	list := append(append([]byte{'['}, p.items...), ']')
	for tools := rawjson.Array(list); tools.Next(); {
		if rawjson.Lookup(tools.Value, "execution") != nil {
			return
		}
	}
	p.items = elements(rawjson.RewriteElements(list, func(tool []byte) []byte {
		inner, isObject := bytes.CutSuffix(bytes.TrimSpace(tool), []byte("}"))
		if !isObject || rawjson.Lookup(tool, "name") == nil {
			return tool
		}
		return append(slices.Clip(inner), `,"execution":{"taskSupport":"optional"}}`...)
	}))
}
