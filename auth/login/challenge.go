package login

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Limits for parsing WWW-Authenticate.
const (
	maxChallengeText   = 8 << 10
	maxChallenges      = 16
	maxChallengeParams = 32
)

// A challenge is the part of WWW-Authenticate that this package uses.
type challenge struct {
	schemes  []string // all schemes, in order
	dpop     bool     // there is a DPoP challenge
	bearer   bool     // there is a Bearer challenge
	err      string
	scope    string
	metadata string // resource_metadata
}

// readChallenge returns the challenge to use. It prefers DPoP to Bearer,
// since a server that offers both prefers the stronger. It is empty if the
// server sends none.
func readChallenge(h http.Header) challenge {
	var found challenge
	for _, c := range parseChallenges(h.Values("Www-Authenticate")) {
		dpop, bearer := strings.EqualFold(c.scheme, "DPoP"), strings.EqualFold(c.scheme, "Bearer")
		if dpop && !found.dpop || bearer && !found.bearer && !found.dpop {
			found.err, found.scope, found.metadata = c.params["error"], c.params["scope"], c.params["resource_metadata"]
		}
		found.dpop, found.bearer = found.dpop || dpop, found.bearer || bearer
		found.schemes = append(found.schemes, clip(c.scheme))
	}
	return found
}

type rawChallenge struct {
	scheme string
	params map[string]string // names in lower case; the first of several wins
}

// parseChallenges parses the fields of WWW-Authenticate (RFC 9110, section
// 11.6.1). It skips what it does not understand and never fails.
func parseChallenges(fields []string) []rawChallenge {
	var all []rawChallenge
	left := maxChallengeText
	for _, field := range fields {
		if len(field) > left {
			field = field[:left]
		}
		left -= len(field)
		all = appendChallenges(all, field)
	}
	return all
}

func appendChallenges(all []rawChallenge, field string) []rawChallenge {
	r := reader{text: field}
	for !r.end() {
		r.skip(" \t,")
		word := r.token()
		if word == "" { // neither a scheme nor a parameter
			r.skipUntil(",")
			continue
		}
		spaces := r.skip(" \t")
		switch {
		case r.take('='):
			r.skip(" \t")
			value, ok := r.value()
			if n := len(all); ok && n > 0 && len(all[n-1].params) < maxChallengeParams {
				name := strings.ToLower(word)
				if _, twice := all[n-1].params[name]; !twice {
					all[n-1].params[name] = value
				}
			}
		case len(all) == maxChallenges:
			return all
		default:
			all = append(all, rawChallenge{scheme: word, params: map[string]string{}})
			if spaces > 0 {
				r.token68()
			}
		}
	}
	return all
}

// A reader parses a header field.
type reader struct {
	text string
	at   int
}

func (r *reader) end() bool { return r.at >= len(r.text) }

func (r *reader) skip(set string) (n int) {
	for !r.end() && strings.IndexByte(set, r.text[r.at]) >= 0 {
		r.at++
		n++
	}
	return n
}

func (r *reader) skipUntil(set string) {
	for !r.end() && strings.IndexByte(set, r.text[r.at]) < 0 {
		r.at++
	}
}

func (r *reader) take(c byte) bool {
	if r.end() || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) token() string {
	start := r.at
	for !r.end() && isTokenByte(r.text[r.at]) {
		r.at++
	}
	return r.text[start:r.at]
}

func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// value parses a token or a quoted string. It returns false for an
// unterminated string.
func (r *reader) value() (string, bool) {
	if !r.take('"') {
		// Some servers do not quote URLs: read up to the comma.
		start := r.at
		r.skipUntil(" \t,")
		return r.text[start:r.at], r.at > start
	}
	var b strings.Builder
	for !r.end() {
		c := r.text[r.at]
		r.at++
		switch {
		case c == '"':
			return b.String(), true
		case c == '\\' && !r.end():
			b.WriteByte(r.text[r.at])
			r.at++
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// token68 skips credentials such as those of Negotiate: text with padding,
// or text followed by a comma or the end.
func (r *reader) token68() {
	start := r.at
	for !r.end() && (isTokenByte(r.text[r.at]) || r.text[r.at] == '/') {
		r.at++
	}
	r.skip("=")
	spaces := r.skip(" \t")
	if (r.end() || r.text[r.at] == ',') && (r.at > start+spaces) {
		return
	}
	r.at = start
}

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

// clip makes one short printable line of text from a server, for an
// error that a terminal shows.
func clip(text string) string {
	const most = 200
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	text = strings.ToValidUTF8(text, "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if cut {
		text += "…"
	}
	return text
}
