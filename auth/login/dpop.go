package login

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
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
