package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/bm25"
	"github.com/tenon-mcp/tenon/mcp"
)

type searchArgs struct {
	Query  string   `json:"query" doc:"words to search for; a note with more of them ranks higher. A \"phrase in quotes\" must match exactly; -word, -\"a phrase\" and -#tag exclude notes" schema:"minLength=1,maxLength=1000"`
	Tag    string   `json:"tag,omitzero" doc:"only notes with this tag or a nested one" schema:"maxLength=100"`
	Folder string   `json:"folder,omitzero" doc:"only notes in this folder" schema:"maxLength=1024"`
	Except []string `json:"exclude_folders,omitzero" doc:"exclude notes in these folders" schema:"maxItems=20"`
	Limit  int      `json:"limit,omitzero" doc:"maximum number of notes" schema:"minimum=1,maximum=50,default=10"`
	Offset int      `json:"offset,omitzero" doc:"number of notes to skip: next_offset of an earlier result" schema:"minimum=0,maximum=1000"`
}

// A hit is a note that was found. Its excerpt is in the text of the result
// only, so that it is sent once.
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
	Notes      []hit  `json:"notes"`
	NextOffset *int   `json:"next_offset,omitempty" doc:"offset for the next call; absent at the end"`
	Corrected  string `json:"corrected,omitzero" doc:"the corrected query, if no note has one of its words"`
	what       string
}

// MCPText returns the text that a model reads.
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
		fmt.Fprintf(&b, "\n\nThere are more. Continue with offset=%d.", *h.NextOffset)
	}
	return b.String()
}

func hitOf(n *note) hit {
	return hit{Path: n.path, URI: uriOf(n.path), Title: n.title, Tags: n.tags[:min(len(n.tags), 20)], Modified: n.modified.UTC().Truncate(time.Second)}
}

// maxPhraseReads is the maximum number of notes read to look for a phrase.
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
	q := parseQuery(in.Query)
	if q.words == "" {
		return hits{}, errors.New("query has only exclusions; add words to search for")
	}
	find, within := v.index.Search, (func(string) bool)(nil)
	if !a.everything { // notes of others must not affect scores or corrections
		find, within = v.index.SearchWithin, a.reads
	}
	out := hits{what: fmt.Sprintf("found for %q", clip(in.Query))}
	if corrected := v.index.Correct(q.words, within); corrected != nil && len(q.phrases) == 0 {
		q.words = q.correct(corrected)
		out.what += fmt.Sprintf(" (corrected to %q)", q.words)
		out.Corrected = q.words
	}
	var keepID func(id string) bool
	if in.Tag != "" || in.Folder != "" || len(in.Except) > 0 || !a.everything {
		keepID = func(id string) bool {
			n := v.get(id)
			return n != nil && a.reads(id) && keep(n) && !slices.ContainsFunc(in.Except, func(folder string) bool { return inside(id, strings.Trim(folder, "/")) })
		}
	}
	limit := in.Offset + in.Limit + 1
	if q.reads() {
		limit = max(limit, maxPhraseReads)
	}
	err = v.collect(ctx, &out, q, in, find(q.words, limit, keepID))
	return out, err
}

// collect fills a page with the notes found and their excerpts, without
// those that the query excludes.
func (v *vault) collect(ctx context.Context, out *hits, q query, in searchArgs, found []bm25.Hit) error {
	s := newSnipper(q.words, q.phrases)
	rank := 0
	var buf []byte
	for _, h := range found {
		n := v.get(h.ID)
		if n == nil || ctx.Err() != nil || slices.ContainsFunc(q.noTags, n.hasTag) {
			continue
		}
		b, full := []byte(nil), len(out.Notes) == in.Limit
		if q.reads() || rank >= in.Offset && !full {
			var err error
			if b, _, err = v.readNote(n.path, buf); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			buf = b
			if !s.hasPhrases(b) || q.leavesOut(n, b) {
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
		hit := hitOf(n)
		hit.Score = float64(int(h.Score*1000)) / 1000
		hit.snippet = s.snippet(b)
		out.Notes = append(out.Notes, hit)
	}
	return ctx.Err()
}

type recentArgs struct {
	Tag    string `json:"tag,omitzero" doc:"only notes with this tag or a nested one" schema:"maxLength=100"`
	Folder string `json:"folder,omitzero" doc:"only notes in this folder" schema:"maxLength=1024"`
	Limit  int    `json:"limit,omitzero" doc:"maximum number of notes" schema:"minimum=1,maximum=100,default=10"`
	Offset int    `json:"offset,omitzero" doc:"number of notes to skip: next_offset of an earlier result" schema:"minimum=0,maximum=100000"`
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

// A query is a parsed search query.
type query struct {
	words     string   // all words, including those of phrases
	phrases   []string // must occur in the note; lower case
	noWords   []string // must not occur as words
	noPhrases []string
	noTags    []string
}

const maxPhrases = 10

// parseQuery parses words, "phrases in quotes", and exclusions: a hyphen
// after a space.
func parseQuery(input string) query {
	var q query
	var words []string
	for rest := input; rest != ""; {
		rest = strings.TrimLeft(rest, " \t\n")
		not := len(rest) > 1 && rest[0] == '-' && rest[1] != '-' && rest[1] != ' '
		if not {
			rest = rest[1:]
		}
		if body, ok := strings.CutPrefix(rest, `"`); ok {
			if phrase, after, closed := strings.Cut(body, `"`); closed {
				q.phrase(oneSpace(phrase), not, &words)
				rest = after
				continue
			}
			rest = body
		}
		end := strings.IndexAny(rest, " \t\n\"")
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = rest[end:]
		switch {
		case !not:
			words = append(words, word)
		case strings.HasPrefix(word, "#"):
			if tag := cleanTag(word); tag != "" {
				q.noTags = append(q.noTags, tag)
			}
		default:
			q.noWords = append(q.noWords, wordsOf(word)...)
		}
	}
	q.words = strings.TrimSpace(strings.Join(words, " "))
	return q
}

func (q *query) phrase(phrase string, not bool, words *[]string) {
	switch {
	case phrase == "" || len(q.phrases)+len(q.noPhrases) >= maxPhrases:
	case not:
		q.noPhrases = append(q.noPhrases, strings.ToLower(phrase))
		return
	default:
		q.phrases = append(q.phrases, strings.ToLower(phrase))
	}
	if !not {
		*words = append(*words, phrase)
	}
}

// wordsOf returns the words of a text in the form in which they are compared.
func wordsOf(text string) (words []string) {
	bm25.Scan(text, func(word []byte, _, _ int) bool {
		words = append(words, string(word))
		return len(words) < 32
	})
	return words
}

// reads reports whether notes must be read to match the query.
func (q *query) reads() bool { return len(q.phrases)+len(q.noWords)+len(q.noPhrases) > 0 }

// leavesOut reports whether the query excludes a note.
func (q *query) leavesOut(n *note, b []byte) bool {
	if len(q.noPhrases) > 0 && slices.ContainsFunc(q.noPhrases, finder(b)) {
		return true
	}
	if len(q.noWords) == 0 {
		return false
	}
	found := false
	bm25.Scan(n.path+" "+n.title+" "+string(b), func(word []byte, _, _ int) bool {
		found = slices.Contains(q.noWords, string(word))
		return !found
	})
	return found
}

// correct replaces the words that no note has by the corrected ones.
func (q *query) correct(corrected map[string]string) string {
	words := wordsOf(q.words)
	for i, w := range words {
		if better := corrected[w]; better != "" {
			words[i] = better
		}
	}
	return strings.Join(words, " ")
}
