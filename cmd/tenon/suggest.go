package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/internal/typo"
)

// suggest returns the end of an error: the most similar of the valid names.
func suggest(name string, all []string) string {
	best, least := "", len(name)/2+1
	for _, one := range all {
		d := typo.Distance(strings.ToLower(name), strings.ToLower(one), least)
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
