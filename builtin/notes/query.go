package notes

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

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
