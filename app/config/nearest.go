package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/typo"
)

// nearest returns the name that is most similar to name, or "" if none is.
func nearest(name string, names []string) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", 1+len(name)/3
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := typo.Distance(strings.ToLower(name), strings.ToLower(n), least); d < least || best == "" && d == least {
			best, least = n, d
		}
	}
	return best
}

// didYouMean returns a suffix for an error that suggests a name.
func didYouMean(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
