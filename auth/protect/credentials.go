package protect

import (
	"net/http"
	"net/url"
	"strings"
)

const maxToken = 16 << 10

// The supported schemes of the Authorization header.
const (
	bearer = "Bearer"
	dpop   = "DPoP"
)

type credentials struct{ scheme, token string }

// readCredentials returns the token of a request. It must be in a single
// Authorization header; in a URL it would be logged.
func readCredentials(r *http.Request) (credentials, *refusal) {
	if strings.Contains(r.URL.RawQuery, "access_token") {
		if q, err := url.ParseQuery(r.URL.RawQuery); err != nil || q.Has("access_token") {
			return credentials{}, badRequest("a token must not be in the URL; send it in the Authorization header")
		}
	}
	switch given := r.Header["Authorization"]; {
	case len(given) == 0:
		return credentials{}, &refusal{status: http.StatusUnauthorized}
	case len(given) > 1:
		return credentials{}, badRequest("there must be only one Authorization header")
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
		return credentials{}, &refusal{status: http.StatusUnauthorized} // as without credentials: RFC 6750 has no code for it
	}
	if !isToken(token) {
		return credentials{}, &refusal{status: http.StatusUnauthorized, scheme: scheme, code: "invalid_token", description: "the token is empty or has invalid characters"}
	}
	return credentials{scheme, token}, nil
}

// isToken reports whether s is a b64token of RFC 6750.
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
