package notes

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

// A query is what a caller looks for.
type query struct {
	words     string   // all words, those of phrases included
	phrases   []string // must be in the note as they are, in small letters
	noWords   []string // must not be, as words
	noPhrases []string
	noTags    []string
}

const maxPhrases = 10

// parseQuery reads words, "phrases in quotes", and what is to be left out: with
// a hyphen before it that follows a space.
func parseQuery(said string) query {
	var q query
	var words []string
	for rest := said; rest != ""; {
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

// wordsOf are the words of a text as they are compared.
func wordsOf(text string) (words []string) {
	bm25.Scan(text, func(word []byte, _, _ int) bool {
		words = append(words, string(word))
		return len(words) < 32
	})
	return words
}

// reads reports whether notes must be read to know whether they fit.
func (q *query) reads() bool { return len(q.phrases)+len(q.noWords)+len(q.noPhrases) > 0 }

// leavesOut reports whether a note has what the query does not want.
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

// correct puts the words that were probably meant in the place of those that no
// note has.
func (q *query) correct(corrected map[string]string) string {
	words := wordsOf(q.words)
	for i, w := range words {
		if better := corrected[w]; better != "" {
			words[i] = better
		}
	}
	return strings.Join(words, " ")
}
