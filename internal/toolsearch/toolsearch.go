// Package toolsearch finds tools by what a person or a model wants to do. The host
// and the gateway use it, so that both find the same.
package toolsearch

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/bm25"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// weights has the fields that are searched, and the weight of a word in each.
var weights = []float64{
	3,   // the names of the tool and its server
	2,   // the description
	0.3, // the names and descriptions of the arguments
	0.7, // synonyms of the words in name and description
}

// An Index finds tools. Its methods are safe for concurrent use.
type Index struct{ words *bm25.Index }

// New returns an empty Index.
func New() *Index { return &Index{bm25.New(weights...)} }

// Put adds a tool, or replaces the one with the same id. Names has the names of
// the tool and its server, with spaces in between. InputSchema is valid JSON.
func (x *Index) Put(id, names, description string, inputSchema json.RawMessage) {
	n, d := stems(names), stems(description)
	x.words.Put(id, strings.Join(n, " "), strings.Join(d, " "), strings.Join(stems(argumentWords(inputSchema)), " "), related(n, d))
}

// Remove removes a tool.
func (x *Index) Remove(id string) { x.words.Remove(id) }

// Len returns the number of tools.
func (x *Index) Len() int { return x.words.Len() }

// Find returns the ids of the tools that match a query best, the best first. Only
// tools for which within returns true count; nil means all.
func (x *Index) Find(query string, limit int, within func(id string) bool) []string {
	find := x.words.SearchWithin
	if within == nil {
		find = x.words.Search
	}
	var ids []string
	for _, hit := range find(queryStems(query), limit, within) {
		ids = append(ids, hit.ID)
	}
	return ids
}

// queryStems returns the stems of the words of a query, without fillers.
func queryStems(query string) string {
	var kept []string
	for _, w := range words(query) {
		if !fillers()[w] {
			kept = append(kept, stem(w))
		}
	}
	if kept == nil {
		return query // nothing but fillers
	}
	return strings.Join(kept, " ")
}

// words returns the words of a text; compounds both in parts and whole.
func words(text string) []string {
	var all []string
	bm25.Scan(text, func(w []byte, _, _ int) bool {
		all = append(all, string(w))
		return true
	})
	return all
}

// stems returns the stems of the words of a text.
func stems(text string) []string {
	all := words(text)
	for i, w := range all {
		all[i] = stem(w)
	}
	return all
}

// stem removes the endings of English inflection from a word, so that "deleting
// files" finds "delete a file".
func stem(w string) string {
	for _, end := range []struct {
		suffix, instead string
		least           int // letters that must be left
	}{
		{"sses", "ss", 1}, {"ies", "y", 2}, {"ches", "ch", 1}, {"shes", "sh", 1}, {"xes", "x", 1},
		{"ss", "ss", 1}, {"us", "us", 1}, {"is", "is", 1}, {"s", "", 3},
	} {
		if rest, ok := strings.CutSuffix(w, end.suffix); ok && len(rest) >= end.least {
			w = rest + end.instead
			break
		}
	}
	for _, suffix := range []string{"ing", "ed"} {
		if rest, ok := strings.CutSuffix(w, suffix); ok && len(rest) >= 3 && strings.ContainsAny(rest, "aeiouy") {
			w = undouble(rest)
			break
		}
	}
	if rest, ok := strings.CutSuffix(w, "e"); ok && len(rest) >= 4 {
		w = rest
	}
	return w
}

// undouble turns "stopp", of stopped, into "stop".
func undouble(w string) string {
	if n := len(w); w[n-1] == w[n-2] && !strings.ContainsAny(w[n-1:], "lsz") {
		return w[:n-1]
	}
	return w
}

// related returns the synonyms of words, each once.
func related(stems ...[]string) string {
	var all []string
	for _, of := range stems {
		for _, w := range of {
			for _, group := range thesaurus()[w] {
				all = append(all, group...)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// argumentWords returns the names and descriptions of a schema's members.
func argumentWords(schema json.RawMessage) string {
	var words []string
	for p := rawjson.Object(rawjson.Lookup(schema, "properties")); p.Next(); {
		description, _ := rawjson.String(rawjson.Lookup(p.Value, "description"))
		words = append(words, string(p.Name), description)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// fillers are words of a query that say nothing about what a tool does.
var fillers = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`a an the this that these those it its i me my mine you your we us our he him his she her they them
		their is are was were be been being am do does did have has had will would can could should shall may might must
		to of in on at by for from with into about as and or but if then than so not no yes please just only some any
		what which who whom whose when where why how there here want need like let lets us tell give all
		one two still yet s t m re ve ll d`) {
		all[w] = true
	}
	return all
})
