package keyword

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/bm25"
)

// A candidate is a tool with the arguments found in a sentence.
type candidate struct {
	tool    llm.Tool
	args    map[string]any
	missing []string // required arguments that were not found
	score   float64
}

// hostTools belong to the host and are never proposed.
var hostTools = []string{"search_tools", "call_tool", "read_result"}

// match returns the tool that matches best, by its words and by the arguments
// found; nil if none matches.
func match(sentence string, tools []llm.Tool) *candidate {
	index := bm25.New(3, 1, 0.5)
	byName := map[string]llm.Tool{}
	for _, t := range tools {
		if slices.Contains(hostTools, t.Name) {
			continue
		}
		byName[t.Name] = t
		index.Put(t.Name, strings.ReplaceAll(t.Name, "__", " "), t.Description, propertyNames(t.Schema))
	}
	words := slices.DeleteFunc(wordsOf(sentence), func(w string) bool { return slices.Contains(stopWords, w) })
	var best *candidate
	for _, hit := range index.Search(sentence, 8, nil) {
		t := byName[hit.ID]
		c := &candidate{tool: t, score: hit.Score}
		c.args, c.missing = fill(sentence, t)
		named := nameShare(t.Name, words)
		if named == 0 && shared(t.Description, words) < 2 {
			continue // one common word is a coincidence
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

// nameShare returns the share of the words of a tool's name that occur in the
// sentence.
func nameShare(name string, words []string) float64 {
	_, tool, ok := strings.Cut(name, "__")
	if !ok {
		tool = name
	}
	parts := wordsOf(strings.NewReplacer("_", " ", "-", " ").Replace(tool))
	if len(parts) == 0 {
		return 0
	}
	return float64(countIn(parts, words)) / float64(len(parts))
}

// shared counts the words that occur in a description.
func shared(description string, words []string) int {
	return countIn(words, wordsOf(description))
}

// countIn counts the words that occur in others.
func countIn(words, others []string) int {
	n := 0
	for _, w := range words {
		if slices.ContainsFunc(others, func(o string) bool { return sameStem(w, o) }) {
			n++
		}
	}
	return n
}

// sameStem reports whether two words differ only in a common ending.
func sameStem(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, strings.TrimSuffix(a, "e"))
	return ok && len(a) >= 3 && slices.Contains([]string{"s", "es", "ed", "ing", "ies", "e"}, rest)
}

// wordsOf returns the words of a text in lower case, without punctuation.
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
