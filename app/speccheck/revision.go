package speccheck

import (
	"slices"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/mcp"
)

// letterOf returns the letter of a revision in the tables, A for the oldest. An
// unknown revision is treated as the newest.
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

// parseSpan parses "C" or "A-D".
func parseSpan(text string) (span, bool) {
	switch {
	case len(text) == 1:
		return span{text[0], text[0]}, text[0] >= 'A' && text[0] <= 'Z'
	case len(text) == 3 && text[1] == '-':
		return span{text[0], text[2]}, text[0] >= 'A' && text[0] <= text[2] && text[2] <= 'Z'
	}
	return span{}, false
}

// revisions returns the revisions of a span, oldest first.
func (s span) revisions() (all []mcp.Revision) {
	known := mcp.Revisions()
	for i := len(known) - 1; i >= 0; i-- {
		if s.has('A' + byte(len(known)-1-i)) {
			all = append(all, known[i])
		}
	}
	return all
}

// eraOf returns the era of a revision; empty if it is unknown.
func eraOf(r mcp.Revision) string {
	modern, legacy := eraconn.Eras(r)
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
