package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

type searchArgs struct {
	Query  string `json:"query" doc:"words to look for; the more of them a note has, the better. A \"phrase in quotes\" must be there as it is" schema:"minLength=1,maxLength=1000"`
	Tag    string `json:"tag,omitzero" doc:"only notes with this tag, or one below it" schema:"maxLength=100"`
	Folder string `json:"folder,omitzero" doc:"only notes in this folder" schema:"maxLength=1024"`
	Limit  int    `json:"limit,omitzero" doc:"how many notes at most" schema:"minimum=1,maximum=50,default=10"`
	Offset int    `json:"offset,omitzero" doc:"how many of the best to leave out, to see those behind them" schema:"minimum=0,maximum=1000"`
}

// A hit is a note that was found. The words around what was found are in the
// text of the result and not here, so that they are sent once.
type hit struct {
	Path     string    `json:"path"`
	URI      string    `json:"uri"`
	Title    string    `json:"title"`
	Tags     []string  `json:"tags"`
	Modified time.Time `json:"modified"`
	Score    float64   `json:"score,omitzero" doc:"higher is better, within this search"`
	snippet  string
}

type hits struct {
	Notes      []hit `json:"notes"`
	NextOffset *int  `json:"next_offset,omitempty" doc:"pass it as offset to get more; absent at the end"`
	what       string
}

// MCPText is what a model reads.
func (h hits) MCPText() string {
	if len(h.Notes) == 0 {
		return "No notes " + h.what + "."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:\n", plural(len(h.Notes), "note"), h.what)
	for _, n := range h.Notes {
		fmt.Fprintf(&b, "\n- %s", n.Path)
		if n.Title != baseName(n.Path) {
			fmt.Fprintf(&b, " “%s”", n.Title)
		}
		fmt.Fprintf(&b, " (%s)", n.Modified.UTC().Format("2006-01-02 15:04"))
		for _, tag := range n.Tags[:min(len(n.Tags), 8)] {
			b.WriteString(" #" + tag)
		}
		if n.snippet != "" {
			b.WriteString("\n  " + n.snippet)
		}
	}
	if h.NextOffset != nil {
		fmt.Fprintf(&b, "\n\nThere are more: pass offset=%d.", *h.NextOffset)
	}
	return b.String()
}

func hitOf(n *note) hit {
	return hit{Path: n.path, URI: uriOf(n.path), Title: n.title, Tags: n.tags[:min(len(n.tags), 20)], Modified: n.modified.UTC().Truncate(time.Second)}
}

// maxPhraseReads is how many notes are read to look for a phrase.
const maxPhraseReads = 300

func (v *vault) search(ctx context.Context, c *mcp.Call, in searchArgs) (hits, error) {
	keep, err := filter(in.Tag, in.Folder)
	if err != nil {
		return hits{}, err
	}
	if err := v.wait(ctx, c); err != nil {
		return hits{}, err
	}
	a := v.access(&c.Caller)
	narrow := in.Tag != "" || in.Folder != "" || !a.everything
	var kept func(id string) bool
	if narrow {
		kept = func(id string) bool {
			n := v.get(id)
			return n != nil && a.reads(id) && keep(n)
		}
	}
	words, phrases := splitQuery(in.Query)
	want := in.Offset + in.Limit + 1
	limit := want
	if len(phrases) > 0 {
		limit = max(limit, maxPhraseReads)
	}
	s := newSnipper(words, phrases)
	out := hits{what: fmt.Sprintf("found for %q", clip(in.Query))}
	rank := 0
	var buf []byte
	find := v.index.Search
	if !a.everything {
		find = v.index.SearchWithin // what others wrote must not show in scores
	}
	for _, h := range find(words, limit, kept) {
		n := v.get(h.ID)
		if n == nil || ctx.Err() != nil {
			continue
		}
		b, full := []byte(nil), len(out.Notes) == in.Limit
		if len(phrases) > 0 || rank >= in.Offset && !full {
			if b, _, err = v.readNote(n.path, buf); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			buf = b
			if len(phrases) > 0 && !s.hasPhrases(b) {
				continue
			}
		}
		if rank++; rank <= in.Offset {
			continue
		}
		if full {
			next := in.Offset + in.Limit
			out.NextOffset = &next
			break
		}
		found := hitOf(n)
		found.Score = float64(int(h.Score*1000)) / 1000
		found.snippet = s.snippet(b)
		out.Notes = append(out.Notes, found)
	}
	return out, ctx.Err()
}

// splitQuery takes the phrases in quotes out of a query; their words stay.
func splitQuery(query string) (words string, phrases []string) {
	parts := strings.Split(query, `"`)
	if len(parts) < 3 {
		return query, nil
	}
	for i := 1; i+1 < len(parts); i += 2 {
		if phrase := oneSpace(parts[i]); phrase != "" && len(phrases) < 10 {
			phrases = append(phrases, strings.ToLower(phrase))
		}
	}
	return strings.Join(parts, " "), phrases
}

type recentArgs struct {
	Tag    string `json:"tag,omitzero" doc:"only notes with this tag, or one below it" schema:"maxLength=100"`
	Folder string `json:"folder,omitzero" doc:"only notes in this folder" schema:"maxLength=1024"`
	Limit  int    `json:"limit,omitzero" doc:"how many notes at most" schema:"minimum=1,maximum=100,default=10"`
	Offset int    `json:"offset,omitzero" doc:"how many of the latest to leave out, to see those behind them" schema:"minimum=0,maximum=100000"`
}

func (v *vault) recent(ctx context.Context, c *mcp.Call, in recentArgs) (hits, error) {
	keep, err := filter(in.Tag, in.Folder)
	if err != nil {
		return hits{}, err
	}
	if err := v.wait(ctx, c); err != nil {
		return hits{}, err
	}
	all := v.visible(v.access(&c.Caller), keep)
	slices.SortFunc(all, func(x, y *note) int {
		if d := y.modified.Compare(x.modified); d != 0 {
			return d
		}
		return strings.Compare(x.path, y.path)
	})
	out := hits{what: "changed last"}
	if in.Tag != "" {
		out.what = "with #" + cleanTag(in.Tag) + " changed last"
	}
	rest := all[min(in.Offset, len(all)):]
	for _, n := range rest[:min(in.Limit, len(rest))] {
		out.Notes = append(out.Notes, hitOf(n))
	}
	if len(rest) > in.Limit {
		next := in.Offset + in.Limit
		out.NextOffset = &next
	}
	return out, nil
}
