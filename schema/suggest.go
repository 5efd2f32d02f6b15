package schema

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// didYouMean gives "; did you mean …?" if one of the known names is close to
// the given one, else "".
func didYouMean(name string, known []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", 3
	for _, k := range known {
		if len(k) > longest {
			continue
		}
		d := distance(fold(name), fold(k))
		if d < bestDistance && d*2 < max(len(k), 2) {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// allowed says which properties there are.
func allowed(names []string) string {
	if len(names) == 0 {
		return "no properties are allowed"
	}
	return "allowed are " + words.List(names)
}

// fold leaves out what people mix up without meaning another name.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// distance counts the insertions, removals, replacements and swaps of
// neighbours that make b out of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
