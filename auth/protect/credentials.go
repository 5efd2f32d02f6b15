package protect

import (
	"net/http"
	"net/url"
	"strings"
)

const maxToken = 16 << 10

// The schemes of the Authorization header that are understood.
const (
	bearer = "Bearer"
	dpop   = "DPoP"
)

type credentials struct{ scheme, token string }

// readCredentials finds the token of a request. There is one place for it: the
// Authorization header, once. In a URL it would be written to logs.
func readCredentials(r *http.Request) (credentials, *refusal) {
	if strings.Contains(r.URL.RawQuery, "access_token") {
		if q, err := url.ParseQuery(r.URL.RawQuery); err != nil || q.Has("access_token") {
			return credentials{}, badRequest("a token must not stand in the URL, where it ends up in logs; send it in the Authorization header")
		}
	}
	switch given := r.Header["Authorization"]; {
	case len(given) == 0:
		return credentials{}, &refusal{status: http.StatusUnauthorized}
	case len(given) > 1:
		return credentials{}, badRequest("there must be one Authorization header, not several")
	case len(given[0]) > maxToken:
		return credentials{}, &refusal{status: http.StatusRequestHeaderFieldsTooLarge, code: "invalid_request", description: "the token is too long"}
	default:
		return parseCredentials(given[0])
	}
}

func parseCredentials(header string) (credentials, *refusal) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	switch {
	case strings.EqualFold(scheme, bearer):
		scheme = bearer
	case strings.EqualFold(scheme, dpop):
		scheme = dpop
	default:
		return credentials{}, &refusal{status: http.StatusUnauthorized} // as if nothing had been sent: RFC 6750 has no code for it
	}
	if !isToken(token) {
		return credentials{}, &refusal{status: http.StatusUnauthorized, scheme: scheme, code: "invalid_token", description: "this is not a token: it has characters that no token has, or none"}
	}
	return credentials{scheme, token}, nil
}

// isToken checks the alphabet of b64token in RFC 6750.
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		c := body[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return body != ""
}
