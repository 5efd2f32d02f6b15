package protect

import (
	"slices"
	"strings"
)

// isScope reports whether s is one scope-token of RFC 6749.
func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// A hierarchy maps each broad scope to all scopes that it includes.
type hierarchy map[string][]string

// newHierarchy computes the transitive closure, so that cycles do no harm.
func newHierarchy(implies map[string][]string) hierarchy {
	h := hierarchy{}
	for broad := range implies {
		seen := []string{broad}
		for i := 0; i < len(seen); i++ {
			for _, narrow := range implies[seen[i]] {
				if !slices.Contains(seen, narrow) {
					seen = append(seen, narrow)
				}
			}
		}
		h[broad] = seen
	}
	return h
}

// cover reports whether the granted scopes, with all they include, contain
// every needed one.
func (h hierarchy) cover(granted, needed []string) bool {
	for _, need := range needed {
		if !slices.ContainsFunc(granted, func(s string) bool { return s == need || slices.Contains(h[s], need) }) {
			return false
		}
	}
	return true
}

// union returns scopes with those of more that it lacks, in a new slice.
func union(scopes, more []string) []string {
	all := slices.Clip(scopes)
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// splitScopes splits the scope member of a token at spaces.
func splitScopes(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(one string) bool { return one == "" })
}
