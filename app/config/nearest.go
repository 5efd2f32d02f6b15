package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/typo"
)

// nearest returns the one of names that was probably meant, or nothing.
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

// didYouMean is a question to end an error with.
func didYouMean(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
