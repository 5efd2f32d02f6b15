package protect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

const (
	keysFresh   = 10 * time.Minute // then they are fetched again
	keysUsable  = time.Hour        // then, if that fails, they are good for nothing
	keysPause   = 5 * time.Second  // between two attempts to fetch them
	keysTimeout = 10 * time.Second // for metadata and keys together
	maxKeys     = 64
	maxGuesses  = 8 // keys that are tried for a token that names none
)

// A keySet holds the public keys of one issuer. One caller at a time fetches
// them; the others go on with those at hand, or wait if there are none.
type keySet struct {
	client *fetch.Client
	locate func(context.Context) (string, error) // the URL of the keys
	now    func() time.Time

	fetching chan struct{} // holds a token while somebody fetches

	mu    sync.Mutex
	state keyState
}

// keyState is what is known about the keys at one moment.
type keyState struct {
	keys    []publicKey
	fetched time.Time // when keys were good last; zero means never
	tried   time.Time // when they were asked for last
	err     error     // what came of that
}

func newKeySet(client *fetch.Client, locate func(context.Context) (string, error)) *keySet {
	return &keySet{client: client, locate: locate, now: time.Now, fetching: make(chan struct{}, 1)}
}

// find returns the keys that a token may have been signed with: those of the
// given id, or any that fits if it names none.
func (s *keySet) find(ctx context.Context, id string, alg jose.SignatureAlgorithm) ([]publicKey, error) {
	state, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	if found := state.matching(id, alg); len(found) > 0 {
		return found, nil
	}
	// The issuer may have changed its keys since.
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
	return nil, invalid("the issuer has no such key (kid) for this algorithm")
}

// current returns keys that may be used now, and sees to it that they do not
// get old.
func (s *keySet) current(ctx context.Context) (keyState, error) {
	state := s.get()
	if s.now().Sub(state.fetched) < keysFresh {
		return state, nil
	}
	if s.usable(state) == nil && len(s.fetching) > 0 {
		return state, nil // somebody is at it: these will do until then
	}
	return s.refresh(ctx, func(now keyState) bool { return s.now().Sub(now.fetched) >= keysFresh })
}

// refresh fetches the keys if they are still wanted when it is this caller's
// turn, and not too soon after the last attempt. The error is that there are
// none to be used.
func (s *keySet) refresh(ctx context.Context, wanted func(keyState) bool) (keyState, error) {
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return keyState{}, unavailable(ctx.Err())
	}
	state := s.get()
	if wanted(state) && s.now().Sub(state.tried) >= keysPause {
		// Others profit from it even if this caller goes away.
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
	return unavailable(errors.New("there are no keys"))
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

// load fetches the keys. Those that cannot be used here are passed over: an
// issuer may have others for other purposes.
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
		return nil, fmt.Errorf("%s has %d keys; at most %d are taken", fetch.Redact(at), len(set.Keys), maxKeys)
	}
	var keys []publicKey
	for _, raw := range set.Keys {
		if key, ok := readKey(raw); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key that can be used: RSA from 2048 bits, P-256, P-384, P-521 or Ed25519, for signatures", fetch.Redact(at))
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
