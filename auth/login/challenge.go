package login

import (
	"net/http"
	"strings"
)

// Limits of what is read of WWW-Authenticate.
const (
	maxChallengeText   = 8 << 10
	maxChallenges      = 16
	maxChallengeParams = 32
)

// A challenge is one of those in WWW-Authenticate that this package answers.
type challenge struct {
	schemes  []string // all of them, in order
	dpop     bool     // one is of scheme DPoP
	bearer   bool     // one is of scheme Bearer
	err      string
	scope    string
	metadata string // resource_metadata
}

// readChallenge finds the challenge to answer. Of both kinds it takes what DPoP
// says, since a server that has both prefers the stronger. Without any it is
// empty, for a server may say 401 and no more.
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

// parseChallenges reads the fields of WWW-Authenticate (RFC 9110, 11.6.1). It
// takes what it understands and steps over the rest; it never fails.
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
		if word == "" { // nothing that begins a scheme or a parameter
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

// A reader walks over a header field.
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

// value reads a token or a quoted string. One that is not closed is none.
func (r *reader) value() (string, bool) {
	if !r.take('"') {
		// Some servers leave the quotes off URLs: up to the comma, then.
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

// token68 steps over credentials such as those of Negotiate: something with
// padding, or followed by a comma or the end, and not by a value.
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
