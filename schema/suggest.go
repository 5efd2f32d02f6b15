package schema

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// didYouMean returns "; did you mean …?" if one of the known names is close
// to name, else "".
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
		d := typo.Distance(fold(name), fold(k), bestDistance)
		if d < bestDistance && d*2 < max(len(k), 2) {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// allowed lists the allowed properties.
func allowed(names []string) string {
	if len(names) == 0 {
		return "no properties are allowed"
	}
	return "allowed are " + words.List(names)
}

// fold normalizes differences that do not make another name.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}
