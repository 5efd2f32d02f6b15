package login

import (
	"slices"
	"strings"
)

const (
	maxScopes     = 200
	offlineAccess = "offline_access"
)

// splitScopes reads a list of scopes. What cannot be a scope is left out.
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

// wantedScopes decides what to ask for: what the challenge says, else what the
// resource lists, else nothing at all; then what was asked for before, and what
// the options say.
func wantedScopes(challenged string, listed, before, own []string) []string {
	want := splitScopes(challenged)
	if len(want) == 0 && len(before) == 0 {
		want = listed
	}
	return validScopes(slices.Concat(before, want, own))
}

// withOffline adds offline_access where the authorization server offers it, and
// takes it out where it does not. Alone it would narrow what is granted, so an
// empty list stays empty.
func withOffline(scopes, offered []string) []string {
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == offlineAccess })
	if len(scopes) > 0 && slices.Contains(offered, offlineAccess) {
		scopes = append(scopes, offlineAccess)
	}
	return scopes
}

// scopeKey names a set of scopes whatever their order.
func scopeKey(scopes []string) string {
	sorted := slices.Clone(scopes)
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}
