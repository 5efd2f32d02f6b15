package config

import (
	"fmt"
	"slices"
	"strings"
)

// nearest returns the one of names that was probably meant, or nothing.
func nearest(name string, names []string) string {
	best, least := "", 1+len(name)/3
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least || best == "" && d == least {
			best, least = n, d
		}
	}
	return best
}

// distance is the number of letters to add, leave out or change to make b of
// a; two neighbours that changed places count once.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 64
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			change := last[j]
			if x[i] != y[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// didYouMean is a question to end an error with.
func didYouMean(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
