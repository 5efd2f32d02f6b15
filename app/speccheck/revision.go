package speccheck

import (
	"slices"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// Tables name revisions by letters, A for the oldest, so that a row says in two
// letters for which ones it counts. A revision that is not known is read like
// the newest: its messages are more likely to be of the future than of the past.
func letterOf(r mcp.Revision) byte {
	all := mcp.Revisions()
	i := slices.Index(all, r)
	if i < 0 {
		i = 0
	}
	return 'A' + byte(len(all)-1-i)
}

// A span is a range of revisions, by letters, both ends included.
type span struct{ from, to byte }

func (s span) has(letter byte) bool { return s.from <= letter && letter <= s.to }

// parseSpan reads "C" or "A-D".
func parseSpan(text string) (span, bool) {
	switch {
	case len(text) == 1:
		return span{text[0], text[0]}, text[0] >= 'A' && text[0] <= 'Z'
	case len(text) == 3 && text[1] == '-':
		return span{text[0], text[2]}, text[0] >= 'A' && text[0] <= text[2] && text[2] <= 'Z'
	}
	return span{}, false
}

// revisions lists what a span stands for, the oldest first.
func (s span) revisions() (all []mcp.Revision) {
	known := mcp.Revisions()
	for i := len(known) - 1; i >= 0; i-- {
		if s.has('A' + byte(len(known)-1-i)) {
			all = append(all, known[i])
		}
	}
	return all
}

// eraOf names the era of a revision, or returns nothing if it is not known.
func eraOf(r mcp.Revision) string {
	modern, legacy := era.Eras(r)
	switch {
	case modern:
		return EraModern
	case legacy:
		return EraLegacy
	}
	return ""
}

// The eras of a [Message].
const (
	EraModern = "modern"
	EraLegacy = "legacy"
)
