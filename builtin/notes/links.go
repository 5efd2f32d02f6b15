package notes

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

type tagArgs struct {
	Prefix string `json:"prefix,omitzero" doc:"only tags that begin with this" schema:"maxLength=100"`
	Limit  int    `json:"limit,omitzero" doc:"maximum number of tags" schema:"minimum=1,maximum=1000,default=100"`
	Offset int    `json:"offset,omitzero" doc:"number of tags to skip: next_offset of an earlier result" schema:"minimum=0,maximum=1000000"`
}

type tagCount struct {
	Tag   string `json:"tag"`
	Notes int    `json:"notes"`
}

type tagList struct {
	Tags       []tagCount `json:"tags"`
	NextOffset *int       `json:"next_offset,omitempty" doc:"offset for the next call; absent at the end"`
}

// MCPText returns the text that a model reads.
func (l tagList) MCPText() string {
	if len(l.Tags) == 0 {
		return "There are no tags."
	}
	var b strings.Builder
	for _, t := range l.Tags {
		fmt.Fprintf(&b, "#%s (%d)\n", t.Tag, t.Notes)
	}
	if l.NextOffset != nil {
		fmt.Fprintf(&b, "There are more. Continue with offset=%d.\n", *l.NextOffset)
	}
	return b.String()
}

func (v *vault) tags(ctx context.Context, c *mcp.Call, in tagArgs) (tagList, error) {
	if err := v.wait(ctx, c); err != nil {
		return tagList{}, err
	}
	prefix := cleanTag(in.Prefix)
	counts := map[string]int{}
	for _, n := range v.visible(v.access(&c.Caller), nil) {
		for _, t := range n.tags {
			if strings.HasPrefix(t, prefix) {
				counts[t]++
			}
		}
	}
	all := make([]tagCount, 0, len(counts))
	for t, n := range counts {
		all = append(all, tagCount{t, n})
	}
	slices.SortFunc(all, func(x, y tagCount) int {
		return cmp.Or(cmp.Compare(y.Notes, x.Notes), cmp.Compare(x.Tag, y.Tag))
	})
	rest := all[min(in.Offset, len(all)):]
	out := tagList{Tags: rest[:min(in.Limit, len(rest))]}
	if len(rest) > in.Limit {
		next := in.Offset + in.Limit
		out.NextOffset = &next
	}
	return out, nil
}

type backlinkArgs struct {
	Path   string `json:"path" doc:"the path of the note in the vault, or its name if it is unique" schema:"minLength=1,maxLength=1024"`
	Limit  int    `json:"limit,omitzero" doc:"maximum number of notes" schema:"minimum=1,maximum=100,default=20"`
	Offset int    `json:"offset,omitzero" doc:"number of notes to skip: next_offset of an earlier result" schema:"minimum=0,maximum=100000"`
}

func (v *vault) backlinks(ctx context.Context, c *mcp.Call, in backlinkArgs) (hits, error) {
	name, err := v.find(ctx, c, in.Path)
	if err == nil {
		err = v.wait(ctx, c)
	}
	if err != nil {
		return hits{}, err
	}
	target := v.get(name)
	if target == nil {
		return hits{}, noNote(name)
	}
	from := linksTo(target, v.visible(v.access(&c.Caller), nil))
	slices.SortFunc(from, func(x, y backlink) int { return cmp.Compare(x.from.path, y.from.path) })
	out := hits{what: fmt.Sprintf("with a link to %s", name)}
	rest := from[min(in.Offset, len(from)):]
	for _, l := range rest[:min(in.Limit, len(rest))] {
		h := hitOf(l.from)
		if b, _, err := v.readNote(l.from.path, nil); err == nil && isText(b) == nil {
			h.snippet = l.lines(string(b))
		}
		out.Notes = append(out.Notes, h)
	}
	if len(rest) > in.Limit {
		next := in.Offset + in.Limit
		out.NextOffset = &next
	}
	return out, nil
}

// A backlink is a note that links to another, with the keys it uses.
type backlink struct {
	from *note
	keys []string
}

// linksTo returns the notes that link to target. all has only notes that the
// caller may read, so that hidden notes do not affect the meaning of a name.
func linksTo(target *note, all []*note) []backlink {
	// The keys of the note: every suffix of its path, and its aliases.
	full := key(target.path)
	names := map[string][]*note{}
	for rest, more := full, true; more; _, rest, more = strings.Cut(rest, "/") {
		names[rest] = nil
	}
	for _, alias := range target.aliases {
		names[key(alias)] = nil
	}
	// Other notes with the same keys.
	for _, n := range all {
		for rest, more := key(n.path), true; more; _, rest, more = strings.Cut(rest, "/") {
			if same, ok := names[rest]; ok {
				names[rest] = append(same, n)
			}
		}
	}
	var found []backlink
	for _, n := range all {
		var by []string
		for _, k := range n.links {
			if same, ok := names[k]; ok && refersTo(n, k, same, target) || k[0] == '/' && k[1:] == full {
				by = append(by, k)
			}
		}
		if by != nil && n != target {
			found = append(found, backlink{n, by})
		}
	}
	return found
}

// refersTo reports whether a name in a note means target. Of several notes with
// that name, it is the one with exactly that path, then one in the same
// folder, then the one with the shortest path. A name that no note has may
// be an alias.
func refersTo(in *note, name string, same []*note, target *note) bool {
	if len(same) == 0 {
		return true // by an alias
	}
	rank := func(n *note) int {
		switch {
		case key(n.path) == name:
			return 0
		case path.Dir(n.path) == path.Dir(in.path):
			return 1
		}
		return 2
	}
	best := slices.MinFunc(same, func(x, y *note) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(len(x.path), len(y.path)), cmp.Compare(x.path, y.path))
	})
	return best.path == target.path
}

// lines returns the first two lines of a note that contain the link.
func (l backlink) lines(text string) string {
	dir := path.Dir(l.from.path)
	_, body := splitFront(text)
	var found []string
	eachLine(text[body:], func(line string, _ int, code bool) {
		if code || len(found) == 2 || strings.IndexByte(line, '[') < 0 {
			return
		}
		var f facts
		f.findLinks(withoutCode(line), dir)
		if slices.ContainsFunc(f.links, func(k string) bool { return slices.Contains(l.keys, k) }) {
			found = append(found, around(oneSpace(line), 0))
		}
	})
	return strings.Join(found, "\n  ")
}
