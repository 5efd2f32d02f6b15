package keyword

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/bm25"
)

// A candidate is a tool with the arguments that a sentence gives it.
type candidate struct {
	tool    llm.Tool
	args    map[string]any
	missing []string // required arguments that the sentence does not give
	score   float64
}

// ownTools are the host's; a sentence never means them.
var ownTools = []string{"search_tools", "call_tool", "read_result"}

// match finds the tool that fits best: by its words, and by how well the rest of
// the sentence fills its arguments. Nil means that none fits at all.
func match(sentence string, tools []llm.Tool) *candidate {
	index := bm25.New(3, 1, 0.5)
	byName := map[string]llm.Tool{}
	for _, t := range tools {
		if slices.Contains(ownTools, t.Name) {
			continue
		}
		byName[t.Name] = t
		index.Put(t.Name, strings.ReplaceAll(t.Name, "__", " "), t.Description, propertyNames(t.Schema))
	}
	words := slices.DeleteFunc(wordsOf(sentence), func(w string) bool { return slices.Contains(small, w) })
	var best *candidate
	for _, hit := range index.Search(sentence, 8, nil) {
		t := byName[hit.ID]
		c := &candidate{tool: t, score: hit.Score}
		c.args, c.missing = fill(sentence, t)
		named := nameShare(t.Name, words)
		if named == 0 && shared(t.Description, words) < 2 {
			continue // one word in common is an accident
		}
		c.score *= 0.2 + named
		if len(c.missing) > 0 {
			c.score *= 0.4
		}
		if c.score > 0 && (best == nil || c.score > best.score) {
			best = c
		}
	}
	return best
}

// nameShare is how much of a tool's own name the sentence says: a tool none of
// whose name is said is hardly meant.
func nameShare(name string, words []string) float64 {
	_, tool, ok := strings.Cut(name, "__")
	if !ok {
		tool = name
	}
	parts := wordsOf(strings.NewReplacer("_", " ", "-", " ").Replace(tool))
	if len(parts) == 0 {
		return 0
	}
	said := 0
	for _, p := range parts {
		if slices.ContainsFunc(words, func(w string) bool { return same(w, p) }) {
			said++
		}
	}
	return float64(said) / float64(len(parts))
}

// shared counts the words of a sentence that a description has, too.
func shared(description string, words []string) int {
	own, n := wordsOf(description), 0
	for _, w := range words {
		if slices.ContainsFunc(own, func(o string) bool { return same(w, o) }) {
			n++
		}
	}
	return n
}

// same reports whether two words mean the same but for their ending.
func same(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, strings.TrimSuffix(a, "e"))
	return ok && len(a) >= 3 && slices.Contains([]string{"s", "es", "ed", "ing", "ies", "e"}, rest)
}

// wordsOf splits a text into small words without signs.
func wordsOf(s string) []string {
	var all []string
	bm25.Scan(s, func(word []byte, _, _ int) bool {
		all = append(all, string(word))
		return true
	})
	return all
}

func propertyNames(schema json.RawMessage) string {
	var names []string
	for _, p := range properties(schema) {
		names = append(names, p.name)
	}
	return strings.Join(names, " ")
}
