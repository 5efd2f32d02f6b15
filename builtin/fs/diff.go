package fs

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/linediff"
)

// A diff is the difference of two texts in the unified format.
type diff struct {
	text           string
	added, removed int
}

// unified compares two texts line by line.
func unified(name, before, after string) diff {
	text, added, removed := linediff.Unified(linediff.Split(before), linediff.Split(after))
	return diff{fmt.Sprintf("Index: %s\n%s\n--- %s\toriginal\n+++ %s\tmodified\n", name, strings.Repeat("=", 67), name, name) + text, added, removed}
}
