package host

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/bm25"
	"github.com/tenon-mcp/tenon/mcp"
)

// The fields that search_tools looks into, and how much a word in each counts.
var searchWeights = []float64{
	3,   // the names of the tool and its server
	2,   // the description
	0.3, // the names and descriptions of the arguments
	0.7, // other words for those of name and description
}

// indexed makes the index that search_tools looks into.
func indexed(list []llm.Tool, byName map[string]*toolEntry) *bm25.Index {
	x := bm25.New(searchWeights...)
	for _, t := range list {
		e := byName[t.Name]
		name := e.server.name + " " + e.tool.Name + " " + e.tool.DisplayName()
		x.Put(t.Name, stems(name), stems(t.Description), stems(argumentWords(e.tool.InputSchema)), related(name+" "+t.Description))
	}
	return x
}

// asked prepares a query: the words that say what is wanted, in their stems.
func asked(query string) string {
	var kept []string
	for _, w := range words(query) {
		if !fillers()[w] {
			kept = append(kept, stem(w))
		}
	}
	if kept == nil {
		return query // it is nothing but filler: better that than nothing
	}
	return strings.Join(kept, " ")
}

// words are the words of a text, compounds as their parts and as a whole.
func words(text string) []string {
	var all []string
	bm25.Scan(text, func(w []byte, _, _ int) bool {
		all = append(all, string(w))
		return true
	})
	return all
}

// stems is a text with each word as its stem.
func stems(text string) string {
	all := words(text)
	for i, w := range all {
		all[i] = stem(w)
	}
	return strings.Join(all, " ")
}

// stem takes the endings of English inflection off a word, so that "deleting
// files" finds "delete a file". It errs on the side of doing little.
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

// undouble makes "stopp" of stopped "stop".
func undouble(w string) string {
	if n := len(w); w[n-1] == w[n-2] && !strings.ContainsAny(w[n-1:], "lsz") {
		return w[:n-1]
	}
	return w
}

// related are other words for those of a text, each once.
func related(text string) string {
	var all []string
	for _, w := range words(text) {
		for _, group := range thesaurus()[stem(w)] {
			all = append(all, group...)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// argumentWords are the names and descriptions of a schema's members.
func argumentWords(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if mcp.Unmarshal(schema, &s) != nil {
		return ""
	}
	var words []string
	for name, p := range s.Properties {
		words = append(words, name, p.Description)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
