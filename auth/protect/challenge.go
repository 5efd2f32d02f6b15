package protect

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A refusal is an error response sent instead of calling the handler.
type refusal struct {
	status      int
	scheme      string   // the scheme of the request; empty means none or either
	code        string   // error code of RFC 6750 or 9449; empty without credentials
	description string   // for people
	scopes      []string // required scopes, for insufficient_scope
	nonce       string   // nonce for the next proof
	message     int      // JSON-RPC error code, for an invalid message

	retry time.Duration // Retry-After of a 503; 0 means 5 s
}

func badRequest(description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", description: description}
}

func badMessage(code int, description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", description: description, message: code}
}

// refuse writes an error response.
func (g *Guard) refuse(w http.ResponseWriter, no *refusal) {
	h := w.Header()
	switch no.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		for _, scheme := range g.schemes(no) {
			h.Add("WWW-Authenticate", g.challenge(scheme, no))
		}
	case http.StatusServiceUnavailable:
		retry := cmp.Or(no.retry, defaultPause)
		h.Set("Retry-After", strconv.Itoa(int((retry+time.Second-1)/time.Second)))
	}
	if no.nonce != "" {
		h.Set("DPoP-Nonce", no.nonce)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(no.status)
	_, _ = w.Write(no.body())
}

// record logs a refused request without its token. A request without a token
// is how a login begins, so it is logged at the debug level.
func (g *Guard) record(r *http.Request, no *refusal) {
	level := slog.LevelWarn
	if no.code == "" {
		level = slog.LevelDebug
	}
	g.opts.Log.LogAttrs(r.Context(), level, "request refused",
		slog.Int("status", no.status), slog.String("error", no.code), slog.String("reason", no.description),
		slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
}

// schemes returns the schemes of the challenge. Bearer comes first, for
// clients that read only one challenge.
func (g *Guard) schemes(no *refusal) []string {
	switch {
	case g.proofs.required || no.scheme == dpop:
		return []string{dpop}
	case g.opts.DPoP != nil:
		return []string{bearer, dpop}
	}
	return []string{bearer}
}

func (g *Guard) challenge(scheme string, no *refusal) string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	add("error", no.code)
	add("error_description", quotable(no.description))
	scopes := no.scopes
	if no.status == http.StatusUnauthorized {
		scopes = g.opts.Scopes
	}
	add("scope", strings.Join(slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !isScope(s) }), " "))
	if scheme == dpop {
		add("algs", strings.Join(g.proofs.algorithmNames(), " "))
	}
	add("resource_metadata", g.documentURL)
	if len(params) == 0 {
		return scheme
	}
	return scheme + " " + strings.Join(params, ", ")
}

// quotable removes characters that cannot be quoted in a challenge.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r < ' ' || r > '~' {
			return '\''
		}
		return r
	}, s)
}

// body returns the response body: a JSON-RPC error for an invalid message,
// and an OAuth error otherwise.
func (no *refusal) body() []byte {
	description := no.description
	if description == "" {
		description = "a token is required; see WWW-Authenticate"
	}
	if no.message != 0 {
		b := append([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":`), strconv.Itoa(no.message)...)
		b = rawjson.AppendString(append(b, `,"message":`...), description)
		return append(b, "}}\n"...)
	}
	code := no.code
	if code == "" {
		code = "unauthorized"
	}
	b := rawjson.AppendString([]byte(`{"error":`), code)
	b = rawjson.AppendString(append(b, `,"error_description":`...), description)
	return append(b, "}\n"...)
}
