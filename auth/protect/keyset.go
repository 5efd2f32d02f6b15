package protect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

const (
	keysFresh   = 10 * time.Minute // age at which keys are fetched again
	keysUsable  = time.Hour        // age at which keys are no longer used
	keysPause   = 5 * time.Second  // minimum time between two fetches
	keysTimeout = 10 * time.Second // for metadata and keys in total
	maxKeys     = 64
	maxGuesses  = 8 // keys tried for a token without a key ID
)

// A keySet has the public keys of one issuer. One caller at a time fetches
// them; other callers use the cached ones, or wait if there are none.
type keySet struct {
	client *fetch.Client
	locate func(context.Context) (string, error) // the URL of the keys
	now    func() time.Time

	fetching chan struct{} // full during a fetch

	mu    sync.Mutex
	state keyState
}

// keyState is a snapshot of the keys.
type keyState struct {
	keys    []publicKey
	fetched time.Time // last success; zero means never
	tried   time.Time // last attempt
	err     error     // result of the last attempt
}

func newKeySet(client *fetch.Client, locate func(context.Context) (string, error)) *keySet {
	return &keySet{client: client, locate: locate, now: time.Now, fetching: make(chan struct{}, 1)}
}

// find returns the keys that a token may be signed with: those with the
// given id, or any for the algorithm if it is empty.
func (s *keySet) find(ctx context.Context, id string, alg jose.SignatureAlgorithm) ([]publicKey, error) {
	state, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	if found := state.matching(id, alg); len(found) > 0 {
		return found, nil
	}
	// The issuer may have rotated its keys.
	before := state.fetched
	if state, err = s.refresh(ctx, func(now keyState) bool { return now.fetched.Equal(before) }); err != nil {
		return nil, err
	}
	found := state.matching(id, alg)
	switch {
	case len(found) > 0:
		return found, nil
	case state.err != nil:
		return nil, unavailable(state.err)
	}
	return nil, invalid("unknown key (kid) for this algorithm")
}

// current returns usable keys and refreshes old ones.
func (s *keySet) current(ctx context.Context) (keyState, error) {
	state := s.get()
	if s.now().Sub(state.fetched) < keysFresh {
		return state, nil
	}
	if s.usable(state) == nil && len(s.fetching) > 0 {
		return state, nil // another caller is fetching: use these
	}
	return s.refresh(ctx, func(now keyState) bool { return s.now().Sub(now.fetched) >= keysFresh })
}

// refresh fetches the keys if wanted still reports true when it is this
// caller's turn, and the last attempt is not too recent. It returns an error
// if there are no usable keys.
func (s *keySet) refresh(ctx context.Context, wanted func(keyState) bool) (keyState, error) {
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return keyState{}, unavailable(ctx.Err())
	}
	state := s.get()
	if wanted(state) && s.now().Sub(state.tried) >= keysPause {
		// The result is for others even if this caller is gone.
		keys, err := s.load(context.WithoutCancel(ctx))
		state.tried, state.err = s.now(), err
		if err == nil {
			state.keys, state.fetched = keys, state.tried
		}
		s.set(state)
	}
	return state, s.usable(state)
}

func (s *keySet) usable(state keyState) error {
	switch {
	case !state.fetched.IsZero() && s.now().Sub(state.fetched) < keysUsable:
		return nil
	case state.err != nil:
		return unavailable(state.err)
	}
	return unavailable(errors.New("no keys available"))
}

func (s *keySet) get() keyState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *keySet) set(state keyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// load fetches the keys and skips those that cannot be used, since an issuer
// may have others for other purposes.
func (s *keySet) load(ctx context.Context) ([]publicKey, error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	at, err := s.locate(ctx)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := s.client.GetJSON(ctx, at, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%s has %d keys; the maximum is %d", fetch.Redact(at), len(set.Keys), maxKeys)
	}
	var keys []publicKey
	for _, raw := range set.Keys {
		if key, ok := readKey(raw); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no usable signature key (RSA from 2048 bits, P-256, P-384, P-521 or Ed25519)", fetch.Redact(at))
	}
	return keys, nil
}

func (state keyState) matching(id string, alg jose.SignatureAlgorithm) []publicKey {
	var found []publicKey
	for _, key := range state.keys {
		if (id == "" || key.id == id) && key.fits(alg) && len(found) < maxGuesses {
			found = append(found, key)
		}
	}
	return found
}

// discoverKeySet returns the key set URL from the metadata of an issuer. The
// metadata must have exactly that issuer.
func discoverKeySet(ctx context.Context, client *fetch.Client, issuer string) (string, error) {
	var failures []error
	for _, at := range metadataOf(issuer) {
		var doc struct {
			Issuer string `json:"issuer"`
			KeySet string `json:"jwks_uri"`
		}
		if err := client.GetJSON(ctx, at, &doc); err != nil {
			failures = append(failures, err)
			continue
		}
		switch {
		case doc.Issuer != issuer:
			return "", fmt.Errorf("the metadata of %s is for issuer %q", fetch.Redact(issuer), fetch.Redact(doc.Issuer))
		case doc.KeySet == "":
			return "", fmt.Errorf("the metadata of %s has no key set (jwks_uri)", fetch.Redact(issuer))
		}
		return doc.KeySet, nil
	}
	return "", errors.Join(failures...)
}

// metadataOf returns the possible metadata URLs of an issuer, in the order
// in which clients try them.
func metadataOf(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	origin := u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	all := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		all = append(all, origin+path+"/.well-known/openid-configuration")
	}
	return all
}
