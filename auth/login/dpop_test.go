package login

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A proofJudge checks proofs as RFC 9449 tells a server to.
type proofJudge struct {
	t     *testing.T
	mu    sync.Mutex
	seen  map[string]bool
	jkt   string
	count int
}

func (j *proofJudge) check(r *http.Request, at, token string) (nonce string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count++
	if len(r.Header["Dpop"]) != 1 {
		j.t.Errorf("%d proofs", len(r.Header["Dpop"]))
		return ""
	}
	parsed, err := jwt.ParseSigned(r.Header.Get("DPoP"), []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		j.t.Error(err)
		return ""
	}
	h := parsed.Headers[0]
	if h.ExtraHeaders["typ"] != "dpop+jwt" || h.JSONWebKey == nil {
		j.t.Errorf("header %+v", h)
		return ""
	}
	if _, ok := h.JSONWebKey.Key.(*ecdsa.PublicKey); !ok {
		j.t.Errorf("the proof carries a %T", h.JSONWebKey.Key)
	}
	var c struct {
		ID    string `json:"jti"`
		HTM   string `json:"htm"`
		HTU   string `json:"htu"`
		IAT   int64  `json:"iat"`
		ATH   string `json:"ath"`
		Nonce string `json:"nonce"`
	}
	if err := parsed.Claims(h.JSONWebKey, &c); err != nil {
		j.t.Error(err)
	}
	sum, _ := h.JSONWebKey.Thumbprint(crypto.SHA256)
	jkt := base64.RawURLEncoding.EncodeToString(sum)
	ath := ""
	if token != "" {
		s := sha256.Sum256([]byte(token))
		ath = base64.RawURLEncoding.EncodeToString(s[:])
	}
	if c.HTM != r.Method || c.HTU != at || c.ATH != ath || time.Since(time.Unix(c.IAT, 0)).Abs() > time.Minute || c.ID == "" || j.seen[c.ID] || j.jkt != "" && j.jkt != jkt {
		j.t.Errorf("proof %+v for %s %s", c, r.Method, at)
	}
	j.seen[c.ID], j.jkt = true, jkt
	return c.Nonce
}

// dpopWorld takes only tokens that are bound to a key, and wants nonces.
func dpopWorld(t *testing.T) (*world, *proofJudge) {
	w := newWorld(t)
	j := &proofJudge{t: t, seen: map[string]bool{}}
	w.metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	base := w.server.Config.Handler
	metadata := w.server.URL + "/.well-known/oauth-protected-resource/mcp"
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if r.URL.Path == "/mcp" && token != "" {
			if scheme != "DPoP" {
				t.Errorf("scheme %q", scheme)
			}
			if j.check(r, w.url(), token) != "server-nonce" {
				rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce", resource_metadata="`+metadata+`"`)
				rw.Header().Set("DPoP-Nonce", "server-nonce")
				rw.WriteHeader(401)
				return
			}
		}
		base.ServeHTTP(rw, r)
	})
	w.challenge = func() string { return `DPoP resource_metadata="` + metadata + `"` }
	issuer := w.issuer.Config.Handler
	w.issuer.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" && j.check(r, w.issuer.URL+"/token", "") != "issuer-nonce" {
			rw.Header().Set("DPoP-Nonce", "issuer-nonce")
			writeJSON(rw, 400, map[string]any{"error": "use_dpop_nonce"})
			return
		}
		issuer.ServeHTTP(rw, r)
	})
	w.tokens = func(url.Values, http.Header) (int, any) {
		body := w.issue(3600)
		body["token_type"] = "DPoP"
		return 200, body
	}
	return w, j
}

func TestDPoP(t *testing.T) {
	w, j := dpopWorld(t)
	store := &tokens.Memory{}
	c := w.client(func(o *Options) { o.Store = store })
	w.wantOK(c)
	w.wantOK(c)
	if got := w.lastPage().Get("dpop_jkt"); got != j.jkt {
		t.Errorf("dpop_jkt %q, want %q", got, j.jkt)
	}
	if j.count != 5 { // twice at each end the first time, then once
		t.Errorf("%d proofs", j.count)
	}
	w.revoke()
	w.wantOK(c) // a refresh, with the same key
	// Another process goes on with the key that was kept.
	w.wantOK(w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) }))
	w.wantCount(2, "issuer POST /token")
}

// A server that never stops asking for another nonce is not asked for ever.
func TestNonceLoop(t *testing.T) {
	w, _ := dpopWorld(t)
	base := w.server.Config.Handler
	sent := 0
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("DPoP") != "" {
			sent++
			rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
			rw.Header().Set("DPoP-Nonce", strings.Repeat("n", sent))
			rw.WriteHeader(401)
			_, _ = rw.Write([]byte(`{"hello":"there"}`))
			return
		}
		base.ServeHTTP(rw, r)
	})
	if status, err := w.post(w.client(nil)); status != 401 || err != nil || sent != 2 {
		t.Errorf("status %d, error %v, sent %d", status, err, sent)
	}
}

// What the authorization server cannot do, or does otherwise, is no token.
func TestDPoPNotOffered(t *testing.T) {
	w := newWorld(t)
	w.challenge = func() string { return "DPoP" }
	w.wantError(w.client(nil), "does not support DPoP")

	w = newWorld(t)
	w.resource["dpop_bound_access_tokens_required"] = true
	w.metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	w.wantError(w.client(nil), "unexpected type") // it gives a bearer token

	w = newWorld(t)
	w.tokens = func(url.Values, http.Header) (int, any) {
		body := w.issue(3600)
		body["token_type"] = "DPoP"
		return 200, body
	}
	w.wantError(w.client(nil), "unexpected type") // it binds to no key of ours

	// Preferred and not demanded: a bearer token is as good.
	w = newWorld(t)
	w.metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	w.wantOK(w.client(func(o *Options) { o.PreferDPoP = true }))
	if w.headers[0].Get("DPoP") == "" {
		t.Error("no proof was sent")
	}
}
