package protect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// signatures are the supported algorithms. All use a public key, so that no
// key set can be mistaken for a shared secret.
var signatures = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// JWTOptions configure [JWT].
type JWTOptions struct {
	// Issuer must equal the iss of a token exactly. Required.
	Issuer string
	// Audiences are the names of this resource; aud must contain one of
	// them. Required; usually the Resource of the Guard.
	Audiences []string
	// KeySet is the URL of the issuer's public keys. Unset means the one in
	// the issuer's metadata.
	KeySet string
	// Algorithms are the accepted signature algorithms. Unset means RS, PS
	// and ES with 256, 384 and 512, and EdDSA. Others are not supported.
	Algorithms []string
	// Fetch gets the keys. Nil means a client that reaches public addresses
	// only.
	Fetch *fetch.Client
}

// JWT returns a Verifier for JSON Web Tokens that checks them with the
// public keys of their issuer. Keys are cached and fetched again every ten
// minutes, or when a token names an unknown one, at most every five seconds.
// If they cannot be fetched, the cached ones are used for an hour; after
// that no token is accepted.
func JWT(options *JWTOptions) (Verifier, error) {
	var o JWTOptions
	if options != nil {
		o = *options
	}
	if err := checkIssuer(o.Issuer); err != nil {
		return nil, err
	}
	if len(o.Audiences) == 0 || slices.Contains(o.Audiences, "") {
		return nil, errors.New("protect: a JWT verifier needs Audiences; without them it would accept tokens for other resources")
	}
	algorithms, err := pickAlgorithms(o.Algorithms)
	if err != nil {
		return nil, err
	}
	if o.Fetch == nil {
		o.Fetch = fetch.New(nil)
	}
	locate := func(ctx context.Context) (string, error) { return discoverKeySet(ctx, o.Fetch, o.Issuer) }
	if o.KeySet != "" {
		locate = func(context.Context) (string, error) { return o.KeySet, nil }
	}
	return &jwtVerifier{opts: o, algorithms: algorithms, keys: newKeySet(o.Fetch, locate), now: time.Now}, nil
}

// pickAlgorithms returns the supported algorithms with the given names.
func pickAlgorithms(names []string) ([]jose.SignatureAlgorithm, error) {
	if len(names) == 0 {
		return signatures, nil
	}
	var picked []jose.SignatureAlgorithm
	for _, name := range names {
		alg := jose.SignatureAlgorithm(name)
		if !slices.Contains(signatures, alg) {
			return nil, fmt.Errorf("protect: unsupported signature algorithm %q; use one of %v", name, signatures)
		}
		picked = append(picked, alg)
	}
	return picked, nil
}

type jwtVerifier struct {
	opts       JWTOptions
	algorithms []jose.SignatureAlgorithm
	keys       *keySet
	now        func() time.Time
}

func (v *jwtVerifier) Verify(ctx context.Context, token string, _ *http.Request) (*Identity, error) {
	signed, header, err := parseJWT(token, v.algorithms)
	if err != nil {
		return nil, err
	}
	got, err := readClaims(signed.UnsafePayloadWithoutVerification()) // to find the claimed issuer
	if err != nil {
		return nil, err
	}
	if issuer, _ := got.text("iss"); issuer != v.opts.Issuer {
		return nil, foreign("the token is from another issuer")
	}
	if !isAccessTokenType(header) {
		return nil, invalid("this JWT is not an access token")
	}
	keys, err := v.keys.find(ctx, header.KeyID, jose.SignatureAlgorithm(header.Algorithm))
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, err := signed.Verify(key.public); err == nil {
			return v.identify(got) // the claims are from the signed bytes
		}
	}
	return nil, invalid("the signature is invalid")
}

// identify checks claims whose signature is valid.
func (v *jwtVerifier) identify(c claims) (*Identity, error) {
	if _, ok := c["exp"]; !ok {
		return nil, invalid("the token has no expiry (exp)")
	}
	if err := c.checkAudience(v.opts.Audiences); err != nil {
		return nil, err
	}
	return c.identity(v.opts.Issuer, v.now())
}

const maxKeyID = 256

// parseJWT parses a compact JWS. Its header may name a key and a type, but
// not the location of a key or critical extensions.
func parseJWT(token string, algorithms []jose.SignatureAlgorithm) (*jose.JSONWebSignature, jose.Header, error) {
	if strings.Count(token, ".") != 2 {
		return nil, jose.Header{}, foreign("the token is not a JWT")
	}
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		if _, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
			return nil, jose.Header{}, invalid("the signature algorithm of the JWT is not accepted")
		}
		return nil, jose.Header{}, foreign("the token is not a signed JWT")
	}
	header := signed.Signatures[0].Protected
	if len(header.KeyID) > maxKeyID {
		return nil, header, invalid("the key id (kid) is too long")
	}
	for _, name := range []jose.HeaderKey{"crit", "b64"} {
		if _, ok := header.ExtraHeaders[name]; ok {
			return nil, header, invalid("the JWT has an unsupported header (%s)", name)
		}
	}
	return signed, header, nil
}

// isAccessTokenType rejects other kinds of JWT that may be signed with the
// same key, such as proofs, assertions and logout tokens.
func isAccessTokenType(h jose.Header) bool {
	typ, ok := h.ExtraHeaders[jose.HeaderType]
	if !ok {
		return true
	}
	name, _ := typ.(string)
	switch strings.TrimPrefix(strings.ToLower(name), "application/") {
	case "at+jwt", "jwt":
		return true
	}
	return false
}
