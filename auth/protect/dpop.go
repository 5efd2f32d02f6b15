package protect

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	proofWindow = 5 * time.Minute // maximum age of a proof, and maximum clock difference
	maxProof    = 8 << 10
	maxProofID  = 512
)

// DPoP configures tokens that are bound to a key (RFC 9449). A bound token
// is never accepted without a proof.
type DPoP struct {
	// Required refuses tokens that are not bound, including API keys.
	Required bool
	// Nonces requires proofs to contain the last nonce of this server, so
	// that proofs cannot be created in advance.
	Nonces bool
	// NonceKey creates the nonces; at least 32 bytes. Replicas must share
	// it. Unset means a random key.
	NonceKey []byte
	// Algorithms are the accepted signature algorithms. Unset means the same
	// as for JWTs.
	Algorithms []string
	// Uses records used proofs for all replicas that share it, so that a proof
	// that one replica accepted is refused by the others. While it fails,
	// requests with a proof are refused with the status 503. Nil means that
	// proofs are recorded in the memory of this process only.
	Uses UseStore
	// Forwarded reports whether another replica has checked a request, recorded
	// the use of its proof, and forwarded it: cluster.Forwarded. The proof is
	// checked again, and its use not recorded again. Nil means that no requests
	// are forwarded.
	Forwarded func(ctx context.Context) bool
}

// A UseStore records what may be used once. The Store of package cluster is one.
type UseStore interface {
	// Once reports whether this is the first use of key within ttl.
	Once(ctx context.Context, key string, ttl time.Duration) (first bool, err error)
}

// proofs checks that a request comes from the holder of the key of its token.
type proofs struct {
	required   bool
	algorithms []jose.SignatureAlgorithm
	resource   *url.URL
	nonces     *nonces // nil means that none are required
	used       *usedProofs
	shared     UseStore // nil means that there is no other replica
	forwarded  func(context.Context) bool
	log        *slog.Logger
	now        func() time.Time
}

func newProofs(o *DPoP, resource *url.URL, log *slog.Logger) (*proofs, error) {
	if o == nil {
		o = &DPoP{}
	}
	algorithms, err := pickAlgorithms(o.Algorithms)
	if err != nil {
		return nil, err
	}
	p := &proofs{required: o.Required, algorithms: algorithms, resource: resource, used: newUsedProofs(), shared: o.Uses, forwarded: o.Forwarded, log: log, now: time.Now}
	if o.Nonces {
		p.nonces, err = newNonces(o.NonceKey)
	}
	return p, err
}

func (p *proofs) algorithmNames() []string {
	var names []string
	for _, alg := range p.algorithms {
		names = append(names, string(alg))
	}
	return names
}

// check checks the scheme, the token and the proof of a request. thumbprint
// is that of the key of the token, or empty.
func (p *proofs) check(r *http.Request, given credentials, thumbprint string) *refusal {
	switch {
	case thumbprint == "" && given.scheme == bearer && !p.required:
		return nil
	case thumbprint == "":
		return p.refuse("invalid_token", "the token must be bound to a key (DPoP)")
	case given.scheme != dpop:
		return p.refuse("invalid_token", "the token is bound to a key; send it with the scheme DPoP and a proof")
	}
	sent := r.Header["Dpop"]
	if len(sent) != 1 || len(sent[0]) > maxProof {
		return p.bad("there must be exactly one DPoP header with a proof")
	}
	proof, no := p.open(sent[0], thumbprint)
	if no != nil {
		return no
	}
	return p.checkClaims(r, given.token, thumbprint, proof)
}

// open verifies the signature of a proof with its key, which must be the key
// of the token.
func (p *proofs) open(proof, thumbprint string) (claims, *refusal) {
	signed, header, err := parseJWT(proof, p.algorithms)
	if err != nil {
		return nil, p.bad("the proof is not an acceptable JWT")
	}
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	jwk := header.JSONWebKey
	switch {
	case !strings.EqualFold(typ, "dpop+jwt"):
		return nil, p.bad("the type (typ) of the proof must be dpop+jwt")
	case jwk == nil || !isStrong(jwk) || !publicKey{public: jwk.Key}.fits(jose.SignatureAlgorithm(header.Algorithm)):
		return nil, p.bad("the proof must contain a public key (jwk) for its algorithm")
	}
	thumb, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil || subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(thumb)), []byte(thumbprint)) != 1 {
		return nil, p.bad("the key of the proof is not the key of the token")
	}
	payload, err := signed.Verify(jwk.Key)
	if err != nil {
		return nil, p.bad("the signature of the proof is invalid")
	}
	c, err := readClaims(payload)
	if err != nil {
		return nil, p.bad("the claims of the proof are not a valid JSON object")
	}
	return c, nil
}

// checkClaims checks that a proof is for this request, this token and this
// time, and was not used before.
func (p *proofs) checkClaims(r *http.Request, token, thumbprint string, c claims) *refusal {
	sum := sha256.Sum256([]byte(token))
	method, _ := c.text("htm")
	at, _ := c.text("htu")
	hash, _ := c.text("ath")
	id, _ := c.text("jti")
	made, err := c.when("iat")
	now := p.now()
	switch {
	case method != r.Method:
		return p.bad("the proof is for another method (htm)")
	case !p.isHere(at, r):
		return p.bad("the proof is for another URL (htu)")
	case subtle.ConstantTimeCompare([]byte(hash), []byte(base64.RawURLEncoding.EncodeToString(sum[:]))) != 1:
		return p.bad("the proof is for another token (ath)")
	case id == "" || len(id) > maxProofID:
		return p.bad("the proof needs an id (jti) of reasonable length")
	case err != nil || made.Before(now.Add(-proofWindow)) || made.After(now.Add(proofWindow)):
		return p.bad("the proof is not recent (iat); check the clock")
	}
	if nonce, _ := c.text("nonce"); p.nonces != nil && !p.nonces.good(nonce, now) {
		return p.refuse("use_dpop_nonce", "the proof needs the nonce of this response")
	}
	if p.forwarded != nil && p.forwarded(r.Context()) {
		return nil
	}
	return p.use(r.Context(), thumbprint, id, made, now)
}

// use records the use of a proof, first in this process, then for all replicas.
func (p *proofs) use(ctx context.Context, thumbprint, id string, made, now time.Time) *refusal {
	verdict := p.used.take(thumbprint, id, made, now)
	if verdict == proofFresh && p.shared != nil {
		sum := sha256.Sum256([]byte(id))
		key := "dpop " + thumbprint + " " + base64.RawURLEncoding.EncodeToString(sum[:])
		first, err := p.shared.Once(ctx, key, made.Sub(now)+2*proofWindow) // the clock of another replica may be behind
		switch {
		case err != nil:
			p.log.Warn("recording a DPoP proof failed", "error", err)
			return &refusal{status: http.StatusServiceUnavailable, code: "temporarily_unavailable", description: "the proof cannot be checked now; try again"}
		case !first:
			verdict = proofSeen
		}
	}
	switch verdict {
	case proofSeen:
		return p.bad("the proof was already used (jti)")
	case proofsFull:
		return &refusal{status: http.StatusServiceUnavailable, code: "temporarily_unavailable", description: "too many proofs; try again"}
	}
	return nil
}

// isHere compares htu with the URL of a request as clients know it: that of
// the resource, or its origin with the requested path.
func (p *proofs) isHere(htu string, r *http.Request) bool {
	u, err := url.Parse(htu)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !sameOrigin(u, p.resource) {
		return false
	}
	path := pathOf(u)
	return path == pathOf(p.resource) || path == pathOf(r.URL)
}

func pathOf(u *url.URL) string {
	if path := u.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

func (p *proofs) bad(description string) *refusal { return p.refuse("invalid_dpop_proof", description) }

func (p *proofs) refuse(code, description string) *refusal {
	no := &refusal{status: http.StatusUnauthorized, scheme: dpop, code: code, description: description}
	if p.nonces != nil {
		no.nonce = p.nonces.current(p.now())
	}
	return no
}

// offerNonce gives a client that sends proofs the nonce for the next one.
func (g *Guard) offerNonce(w http.ResponseWriter, r *http.Request) {
	if g.proofs.nonces != nil && r.Header["Dpop"] != nil {
		w.Header().Set("DPoP-Nonce", g.proofs.nonces.current(g.proofs.now()))
	}
}
