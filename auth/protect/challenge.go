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

// A refusal is an answer given instead of the handler's.
type refusal struct {
	status      int
	scheme      string   // the scheme that was tried; empty means none or either
	code        string   // the error of RFC 6750, 9449; empty if nothing was tried
	description string   // for people
	scopes      []string // what would be needed, for insufficient_scope
	nonce       string   // the next proof has to carry it
	message     int      // the JSON-RPC error, when the fault is in the message

	retry time.Duration // when to come back, for 503; 0 means 5 s
}

func badRequest(description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", description: description}
}

func badMessage(code int, description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", description: description, message: code}
}

// refuse answers a request that gets no further.
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

// record tells the operator of a request that is refused, without its token. A
// request without a token is how a login begins, and told at the debug level.
func (g *Guard) record(r *http.Request, no *refusal) {
	level := slog.LevelWarn
	if no.code == "" {
		level = slog.LevelDebug
	}
	g.opts.Log.LogAttrs(r.Context(), level, "request refused",
		slog.Int("status", no.status), slog.String("error", no.code), slog.String("reason", no.description),
		slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
}

// schemes lists those that the challenge is made for. Bearer comes first, for
// clients that look at one challenge only.
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

// quotable keeps what may stand between quotes in a challenge.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r < ' ' || r > '~' {
			return '\''
		}
		return r
	}, s)
}

// body is the answer for those who read no headers: a JSON-RPC error if the
// fault is in the message, and the members of an OAuth error otherwise.
func (no *refusal) body() []byte {
	description := no.description
	if description == "" {
		description = "a token is needed: see WWW-Authenticate"
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
