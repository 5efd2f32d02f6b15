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

// A hierarchy holds, for each broad scope, everything that comes with it.
type hierarchy map[string][]string

// newHierarchy follows each scope to the end, so that circles do no harm later.
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

// cover reports whether the granted scopes, with all they imply, hold every
// needed one.
func (h hierarchy) cover(granted, needed []string) bool {
	for _, need := range needed {
		if !slices.ContainsFunc(granted, func(s string) bool { return s == need || slices.Contains(h[s], need) }) {
			return false
		}
	}
	return true
}

// union adds to scopes what is not there yet, and leaves scopes itself alone.
func union(scopes, more []string) []string {
	all := slices.Clip(scopes)
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// splitScopes reads the scope member of a token. Scopes are separated by
// spaces, and nothing else.
func splitScopes(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(one string) bool { return one == "" })
}
