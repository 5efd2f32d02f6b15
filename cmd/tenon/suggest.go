package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// suggest returns the end of an error: the most similar of the valid names.
func suggest(name string, all []string) string {
	best, least := "", len(name)/2+1
	for _, one := range all {
		d := distance(strings.ToLower(name), strings.ToLower(one))
		if strings.Contains(one, name) && name != "" {
			d = 0
		}
		if d <= least {
			best, least = one, d-1
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf(": did you mean %s?", best)
	case len(all) == 0:
		return ": there are none"
	case len(all) <= 12:
		return ": there are " + strings.Join(all, ", ")
	}
	return fmt.Sprintf(" among its %d", len(all))
}

// distance returns the edit distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// commandNames lists the commands below one, for suggestions.
func commandNames(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}
