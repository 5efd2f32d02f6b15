package login

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A prover creates DPoP proofs (RFC 9449) with one key for each
// authorization server.
type prover struct {
	key        jose.JSONWebKey
	thumbprint string

	mu     sync.Mutex
	nonces map[string]string // by origin: the nonce for the next proof
}

func newProver() (*prover, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return proverOf(jose.JSONWebKey{Key: private, Algorithm: string(jose.ES256)})
}

func proverOf(key jose.JSONWebKey) (*prover, error) {
	if _, ok := key.Key.(*ecdsa.PrivateKey); !ok || key.Algorithm != string(jose.ES256) {
		return nil, errors.New("the stored DPoP key is invalid")
	}
	public := key.Public()
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return &prover{key: key, thumbprint: base64.RawURLEncoding.EncodeToString(sum), nonces: map[string]string{}}, nil
}

// A storedProver is the prover of an issuer, loaded or created once.
type storedProver struct {
	load once
	*prover
	err error
}

// prover returns the prover of an issuer. Its key is stored, because a
// stored token cannot be used without it.
func (t *Transport) prover(ctx context.Context, issuer string) (*prover, error) {
	t.mu.Lock()
	k := t.provers[issuer]
	if k == nil {
		k = &storedProver{}
		t.provers[issuer] = k
	}
	t.mu.Unlock()
	if err := k.load.do(ctx, func() { k.prover, k.err = t.loadProver(context.WithoutCancel(ctx), issuer) }); err != nil {
		return nil, err
	}
	return k.prover, k.err
}

func (t *Transport) loadProver(ctx context.Context, issuer string) (*prover, error) {
	at := t.opts.key("dpop", issuer)
	unlock, err := t.lock(ctx, at) // processes that start together must make one key
	if err != nil {
		t.opts.warn("the key for DPoP is loaded without a lock: %v", err)
	}
	defer unlock()
	if stored, err := t.store.Load(ctx, at); err == nil {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(stored) == nil {
			if p, err := proverOf(key); err == nil {
				return p, nil
			}
		}
	}
	p, err := newProver()
	if err != nil {
		return nil, err
	}
	if text, err := p.key.MarshalJSON(); err == nil {
		if err := t.store.Save(ctx, at, tokens.Secret(text)); err != nil {
			t.opts.warn("store the DPoP key: %v", err)
		}
	}
	return p, nil
}

// prove returns the proof for one request. token is empty at the token
// endpoint.
func (p *prover) prove(method string, target *url.URL, token string) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key.Key},
		(&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
	if err != nil {
		return "", err
	}
	at := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path, RawPath: target.RawPath}
	claims := map[string]any{"jti": random(), "htm": method, "htu": at.String(), "iat": time.Now().Unix()}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	p.mu.Lock()
	if nonce := p.nonces[origin(target)]; nonce != "" {
		claims["nonce"] = nonce
	}
	p.mu.Unlock()
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// receive stores the nonce of a response and reports whether it is new.
func (p *prover) receive(target *url.URL, h http.Header) bool {
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" || len(nonce) > 1024 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := origin(target)
	if p.nonces[at] == nonce {
		return false
	}
	p.nonces[at] = nonce
	return true
}

// offersDPoP reports whether the authorization server supports ES256 proofs.
func (s *server) offersDPoP() bool { return slices.Contains(s.DPoPAlgorithms, string(jose.ES256)) }

// A Key signs client assertions. Printing it shows only its kind.
type Key struct {
	alg     jose.SignatureAlgorithm
	private crypto.Signer
	id      string
}

// ParseKey parses a private key in PEM (PKCS #8, PKCS #1 or SEC 1).
// algorithm is its signature algorithm; empty means the usual one for its
// kind: RS256, ES256, ES384, ES512 or EdDSA. id is the key ID at the
// authorization server and may be empty.
func ParseKey(text []byte, algorithm, id string) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("not a private key in PEM")
	}
	private, err := parsePrivate(block.Bytes)
	if err != nil {
		return nil, err
	}
	k := &Key{private: private, id: id}
	allowed := algorithms(private)
	if len(allowed) == 0 {
		return nil, errors.New("unsupported private key; use P-256, RSA of at least 2048 bits, or Ed25519")
	}
	k.alg = allowed[0]
	if algorithm != "" {
		k.alg = jose.SignatureAlgorithm(algorithm)
	}
	for _, a := range allowed {
		if a == k.alg {
			return k, nil
		}
	}
	return nil, fmt.Errorf("the private key cannot sign with %q, only with %q", clip(algorithm), allowed)
}

func parsePrivate(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if s, ok := key.(crypto.Signer); ok {
			return s, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("the PEM has no readable private key; keys with a password are not supported")
}

// algorithms returns the signature algorithms of a key, the usual one first.
func algorithms(key crypto.Signer) []jose.SignatureAlgorithm {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return []jose.SignatureAlgorithm{jose.ES256}
		case 384:
			return []jose.SignatureAlgorithm{jose.ES384}
		case 521:
			return []jose.SignatureAlgorithm{jose.ES512}
		}
	case *rsa.PrivateKey:
		if k.N.BitLen() >= 2048 {
			return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}
		}
	case ed25519.PrivateKey:
		return []jose.SignatureAlgorithm{jose.EdDSA}
	}
	return nil
}

// String hides the key.
func (k *Key) String() string { return "private key" }

// Format hides the key from every verb of package fmt.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue hides the key from package log/slog.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// assertion returns a client assertion (RFC 7523, section 2.2). Its only
// audience is the issuer, so that no other server can use it.
func (k *Key) assertion(client, issuer string) (string, error) {
	opts := (&jose.SignerOptions{}).WithType("JWT")
	if k.id != "" {
		opts = opts.WithHeader("kid", k.id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.alg, Key: k.private}, opts)
	if err != nil {
		return "", errors.New("the private key cannot sign")
	}
	now := time.Now()
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": client, "sub": client, "aud": issuer, "jti": random(),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	}).Serialize()
	if err != nil {
		return "", errors.New("signing with the private key failed")
	}
	return text, nil
}

// random returns 256 random bits as text.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
