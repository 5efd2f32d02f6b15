package login

import (
	"slices"
	"strings"
)

const (
	maxScopes     = 200
	offlineAccess = "offline_access"
)

// splitScopes parses a list of scopes and drops invalid ones.
func splitScopes(text string) []string { return validScopes(strings.Fields(text)) }

func validScopes(list []string) []string {
	var out []string
	for _, s := range list {
		if len(out) < maxScopes && isScope(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// isScope reports whether s is a scope-token of RFC 6749.
func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

// wantedScopes returns the scopes to request: those of the challenge, else
// those that the resource lists, plus those requested before and those of
// the options.
func wantedScopes(challenged string, listed, before, extra []string) []string {
	want := splitScopes(challenged)
	if len(want) == 0 && len(before) == 0 {
		want = listed
	}
	return validScopes(slices.Concat(before, want, extra))
}

// withOffline adds offline_access if the authorization server supports it,
// and removes it otherwise. An empty list stays empty, since offline_access
// alone would reduce the grant.
func withOffline(scopes, offered []string) []string {
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == offlineAccess })
	if len(scopes) > 0 && slices.Contains(offered, offlineAccess) {
		scopes = append(scopes, offlineAccess)
	}
	return scopes
}

// scopeKey returns a key for a set of scopes in any order.
func scopeKey(scopes []string) string {
	sorted := slices.Clone(scopes)
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}
