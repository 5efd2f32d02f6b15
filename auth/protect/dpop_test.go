package protect

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenon-mcp/tenon/cluster"
)

// A holder has a key and a token that is bound to it.
type holder struct {
	key   *ecdsa.PrivateKey
	token string
	made  int
}

func newHolder(t *testing.T, is *issuer) *holder {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &holder{key: key, token: is.token(map[string]any{"cnf": map[string]any{"jkt": thumbprint(key.Public())}})}
}

func thumbprint(public any) string {
	own := jose.JSONWebKey{Key: public}
	print, err := own.Thumbprint(crypto.SHA256)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(print)
}

// proof makes a good proof, with changes; nil leaves a claim out.
func (h *holder) proof(changes map[string]any) string {
	return sign(jose.ES256, h.key, map[jose.HeaderKey]any{"typ": "dpop+jwt", "jwk": jose.JSONWebKey{Key: h.key.Public()}}, h.claims(changes))
}

func (h *holder) claims(changes map[string]any) map[string]any {
	h.made++
	sum := sha256.Sum256([]byte(h.token))
	c := map[string]any{"htm": "POST", "htu": resource, "iat": time.Now().Unix(), "jti": fmt.Sprint("proof-", h.made), "ath": base64.RawURLEncoding.EncodeToString(sum[:])}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func (h *holder) send(proofs ...string) *http.Request {
	r := post("{}", "Authorization: DPoP "+h.token)
	for _, p := range proofs {
		r.Header.Add("DPoP", p)
	}
	return r
}

func TestDPoP(t *testing.T) {
	is := newIssuer(t)
	_, h := guarded(t, is, nil)
	ada, eve := newHolder(t, is), newHolder(t, is)
	now := time.Now().Unix()
	header := func(changes map[jose.HeaderKey]any) map[jose.HeaderKey]any {
		all := map[jose.HeaderKey]any{"typ": "dpop+jwt", "jwk": jose.JSONWebKey{Key: ada.key.Public()}}
		for name, value := range changes {
			if all[name] = value; value == nil {
				delete(all, name)
			}
		}
		return all
	}
	signed := func(changes map[jose.HeaderKey]any) string {
		return sign(jose.ES256, ada.key, header(changes), ada.claims(nil))
	}
	for name, proof := range map[string]string{
		"plain":           ada.proof(nil),
		"another case":    ada.proof(map[string]any{"htu": "HTTPS://MCP.example.com/mcp"}),
		"the port":        ada.proof(map[string]any{"htu": "https://mcp.example.com:443/mcp"}),
		"a little old":    ada.proof(map[string]any{"iat": now - 200}),
		"a little ahead":  ada.proof(map[string]any{"iat": now + 200}),
		"a nonce unasked": ada.proof(map[string]any{"nonce": "x"}),
		"typ in capitals": signed(map[jose.HeaderKey]any{"typ": "DPoP+JWT"}),
	} {
		if w := do(h, ada.send(proof)); w.Code != 200 || w.Body.String() != "ada" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	good := ada.proof(nil)
	expect(t, do(h, ada.send(good)), 200)
	stolen := *ada
	for name, proofs := range map[string][]string{
		"none":                {},
		"used before":         {good},
		"two":                 {ada.proof(nil), ada.proof(nil)},
		"garbage":             {"a.b.c"},
		"huge":                {strings.Repeat("x", 20_000)},
		"another's":           {eve.proof(nil)},
		"another's for this":  {sign(jose.ES256, eve.key, map[jose.HeaderKey]any{"typ": "dpop+jwt", "jwk": jose.JSONWebKey{Key: eve.key.Public()}}, stolen.claims(nil))},
		"another's signature": {sign(jose.ES256, eve.key, header(nil), ada.claims(nil))},
		"no key":              {signed(map[jose.HeaderKey]any{"jwk": nil})},
		"a private key":       {signed(map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: ada.key}})},
		"a shared key":        {sign(jose.HS256, []byte(strings.Repeat("k", 32)), header(map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32))}}), ada.claims(nil))},
		"alg none":            {unsigned(`{"alg":"none","typ":"dpop+jwt"}`, `{}`, "")},
		"no typ":              {signed(map[jose.HeaderKey]any{"typ": nil})},
		"typ of a token":      {signed(map[jose.HeaderKey]any{"typ": "at+jwt"})},
		"critical":            {signed(map[jose.HeaderKey]any{"crit": []string{"x"}})},
		"another method":      {ada.proof(map[string]any{"htm": "GET"})},
		"method in small":     {ada.proof(map[string]any{"htm": "post"})},
		"another path":        {ada.proof(map[string]any{"htu": "https://mcp.example.com/other"})},
		"another host":        {ada.proof(map[string]any{"htu": "https://evil.example/mcp"})},
		"another port":        {ada.proof(map[string]any{"htu": "https://mcp.example.com:8443/mcp"})},
		"http":                {ada.proof(map[string]any{"htu": "http://mcp.example.com/mcp"})},
		"a user in the URL":   {ada.proof(map[string]any{"htu": "https://x@mcp.example.com/mcp"})},
		"no URL":              {ada.proof(map[string]any{"htu": nil})},
		"old":                 {ada.proof(map[string]any{"iat": now - 400})},
		"far ahead":           {ada.proof(map[string]any{"iat": now + 400})},
		"no time":             {ada.proof(map[string]any{"iat": nil})},
		"time as a string":    {ada.proof(map[string]any{"iat": fmt.Sprint(now)})},
		"no id":               {ada.proof(map[string]any{"jti": nil})},
		"an empty id":         {ada.proof(map[string]any{"jti": ""})},
		"a huge id":           {ada.proof(map[string]any{"jti": strings.Repeat("x", 2000)})},
		"no token":            {ada.proof(map[string]any{"ath": nil})},
		"another token":       {ada.proof(map[string]any{"ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"})},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, do(h, ada.send(proofs...)), 401, `DPoP error="invalid_dpop_proof"`, "resource_metadata=", `algs="RS256`)
		})
	}
	// A stolen token is of no use without the key, not even as a bearer token.
	w := do(h, post("{}", "Authorization: Bearer "+ada.token))
	expect(t, w, 401, `DPoP error="invalid_token"`)
	w = do(h, post("{}", "Authorization: Bearer "+ada.token, "DPoP: "+ada.proof(nil)))
	expect(t, w, 401, `DPoP error="invalid_token"`)
	// A token that is not bound does not become so by the scheme.
	w = do(h, post("{}", "Authorization: DPoP "+is.token(nil), "DPoP: "+ada.proof(nil)))
	expect(t, w, 401, `DPoP error="invalid_token"`)
}

func TestDPoPRequired(t *testing.T) {
	is := newIssuer(t)
	_, h := guarded(t, is, func(o *Options) { o.DPoP = &DPoP{Required: true} })
	ada := newHolder(t, is)
	expect(t, do(h, ada.send(ada.proof(nil))), 200)
	w := do(h, post("{}", "Authorization: Bearer "+is.token(nil)))
	expect(t, w, 401, `DPoP error="invalid_token"`)
	if all := w.Header().Values("WWW-Authenticate"); len(all) != 1 {
		t.Errorf("%q", all)
	}
	_, h = guarded(t, is, func(o *Options) { o.DPoP = &DPoP{} })
	if all := do(h, post("{}")).Header().Values("WWW-Authenticate"); len(all) != 2 || !strings.HasPrefix(all[0], "Bearer ") || !strings.HasPrefix(all[1], "DPoP ") {
		t.Errorf("%q", all)
	}
}

// A proof without the nonce is answered with one, the next is good, and a nonce
// is good for two turns.
func TestDPoPNonce(t *testing.T) {
	is := newIssuer(t)
	g, h := guarded(t, is, func(o *Options) { o.DPoP = &DPoP{Nonces: true} })
	c := &clock{at: time.Now()}
	g.proofs.now = c.now
	ada := newHolder(t, is)
	proof := func(nonce any) string { return ada.proof(map[string]any{"nonce": nonce, "iat": c.now().Unix()}) }
	w := do(h, ada.send(proof(nil)))
	expect(t, w, 401, `DPoP error="use_dpop_nonce"`)
	nonce := w.Header().Get("DPoP-Nonce")
	if nonce == "" {
		t.Fatal("no nonce")
	}
	expect(t, do(h, ada.send(proof("made up"))), 401, `use_dpop_nonce`)
	w = do(h, ada.send(proof(nonce)))
	expect(t, w, 200)
	if w.Header().Get("DPoP-Nonce") != nonce {
		t.Error("a good answer does not bring the next nonce")
	}
	c.pass(nonceTurn)
	w = do(h, ada.send(proof(nonce)))
	expect(t, w, 200)
	if next := w.Header().Get("DPoP-Nonce"); next == nonce || next == "" {
		t.Errorf("the nonce does not change: %q", next)
	}
	c.pass(nonceTurn)
	expect(t, do(h, ada.send(proof(nonce))), 401, `use_dpop_nonce`)

	key := []byte(strings.Repeat("k", 32))
	one, _ := newNonces(key)
	two, _ := newNonces(key)
	other, _ := newNonces(nil)
	if !two.good(one.current(c.now()), c.now()) || other.good(one.current(c.now()), c.now()) {
		t.Error("nonces depend on the key and on nothing else")
	}
}

// A failingUses is a UseStore that cannot be reached while down is set.
type failingUses struct {
	*cluster.Memory
	down atomic.Bool
}

func (f *failingUses) Once(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if f.down.Load() {
		return false, cluster.ErrUnavailable
	}
	return f.Memory.Once(ctx, key, ttl)
}

// A proof whose use another replica has recorded is accepted in the request that
// it forwards, and in no other.
func TestForwardedProofsAreUsedOnce(t *testing.T) {
	is := newIssuer(t)
	type forwarded struct{}
	_, h := guarded(t, is, func(o *Options) {
		o.DPoP = &DPoP{Uses: cluster.NewMemory(), Forwarded: func(ctx context.Context) bool { return ctx.Value(forwarded{}) != nil }}
	})
	ada, eve := newHolder(t, is), newHolder(t, is)
	proof := ada.proof(nil)
	expect(t, do(h, ada.send(proof)), 200)
	expect(t, do(h, ada.send(proof)), 401, "already used")
	again := ada.send(proof)
	expect(t, do(h, again.WithContext(context.WithValue(again.Context(), forwarded{}, true))), 200)
	wrong := ada.send(eve.proof(nil)) // it is checked all the same
	expect(t, do(h, wrong.WithContext(context.WithValue(wrong.Context(), forwarded{}, true))), 401)
}

// A proof that one replica accepted is refused by another. While replicas cannot
// agree, no proof is accepted, and a proof that was refused then can be sent
// again with another id.
func TestReplicasShareUsedProofs(t *testing.T) {
	is := newIssuer(t)
	uses := &failingUses{Memory: cluster.NewMemory()}
	share := func(o *Options) { o.DPoP = &DPoP{Uses: uses} }
	_, one := guarded(t, is, share)
	_, two := guarded(t, is, share)
	ada, eve := newHolder(t, is), newHolder(t, is)
	proof := ada.proof(map[string]any{"jti": "same"})
	expect(t, do(one, ada.send(proof)), 200)
	expect(t, do(two, ada.send(proof)), 401, `DPoP error="invalid_dpop_proof"`, "already used")
	expect(t, do(two, eve.send(eve.proof(map[string]any{"jti": "same"}))), 200) // another key
	expect(t, do(two, ada.send(ada.proof(nil))), 200)

	uses.down.Store(true)
	w := do(one, ada.send(ada.proof(nil)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" {
		t.Errorf("status %d, Retry-After %q while the store is away", w.Code, w.Header().Get("Retry-After"))
	}
	expect(t, do(one, post("{}", "Authorization: Bearer "+is.token(nil))), 200) // needs no proof
	uses.down.Store(false)
	expect(t, do(one, ada.send(ada.proof(nil))), 200)

	accepted := 0
	race := ada.proof(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			h := one
			if i%2 == 1 {
				h = two
			}
			if do(h, ada.send(race)).Code == http.StatusOK {
				mu.Lock()
				accepted++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if accepted != 1 {
		t.Errorf("a proof was accepted %d times", accepted)
	}
}

// What is remembered is bounded, and forgetting never lets a proof in twice.
func TestUsedProofs(t *testing.T) {
	now := time.Now()
	u := newUsedProofs()
	for i := range maxProofsPerKey + 100 {
		made := now.Add(time.Duration(i) * time.Millisecond)
		if got := u.take("ada", fmt.Sprint(i), made, now); got != proofFresh {
			t.Fatalf("proof %d: %v", i, got)
		}
	}
	if u.total != maxProofsPerKey {
		t.Errorf("%d are kept", u.total)
	}
	for i := range maxProofsPerKey + 100 {
		made := now.Add(time.Duration(i) * time.Millisecond)
		if got := u.take("ada", fmt.Sprint(i), made, now); got != proofSeen {
			t.Fatalf("proof %d was good again: %v", i, got)
		}
	}
	if got := u.take("eve", "0", now, now); got != proofFresh {
		t.Errorf("one key suffers from another: %v", got)
	}
	later := now.Add(2*proofWindow + time.Minute)
	if got := u.take("eve", "1", later, later); got != proofFresh || u.total != 1 || len(u.keys) != 1 {
		t.Errorf("old ones are kept: %v, %d", got, u.total)
	}
	for i := 0; u.total < maxProofs; i++ {
		u.take(fmt.Sprint("key ", i/1000), fmt.Sprint(i), later, later)
	}
	if got := u.take("new", "x", later, later); got != proofsFull {
		t.Errorf("more than the most: %v", got)
	}
	if got := u.take("eve", "1", later, later); got != proofSeen {
		t.Errorf("full, and a used one is good again: %v", got)
	}
}
