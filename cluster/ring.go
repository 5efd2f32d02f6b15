package cluster

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A ring is the keys of a cluster. All replicas have the same one.
type ring struct {
	Keys    []ringKeyEntry `json:"keys"`    // the newest first
	Current string         `json:"current"` // the id of the key that seals; all of them open
}

type ringKeyEntry struct {
	ID       string    `json:"id"`
	Secret   []byte    `json:"secret"`
	Created  time.Time `json:"created"`
	Replaced time.Time `json:"replaced,omitzero"` // since when it only opens
}

const (
	maxRing = 8                   // keys
	ringTTL = 90 * 24 * time.Hour // after the last replica has stopped
)

// ordered returns the keys, the one that seals first.
func (g *ring) ordered() []ringKeyEntry {
	keys := slices.Clone(g.Keys)
	slices.SortStableFunc(keys, func(a, b ringKeyEntry) int {
		switch g.Current {
		case a.ID:
			return -1
		case b.ID:
			return 1
		}
		return 0
	})
	return keys
}

func (g *ring) has(id string) bool {
	return slices.ContainsFunc(g.Keys, func(k ringKeyEntry) bool { return k.ID == id })
}

// with returns the ring with a further key in front.
func (g *ring) with(k ringKeyEntry) *ring {
	return &ring{append([]ringKeyEntry{k}, g.Keys...), g.Current}
}

// sealWith returns the ring whose key with this id seals. Expired keys are
// dropped.
func (g *ring) sealWith(id string, now time.Time, life time.Duration) *ring {
	next := &ring{Current: id}
	for _, k := range g.Keys {
		switch {
		case k.ID == id:
			k.Replaced = time.Time{}
		case k.Replaced.IsZero():
			k.Replaced = now
		case k.expired(now, life):
			continue
		}
		if len(next.Keys) < maxRing {
			next.Keys = append(next.Keys, k)
		}
	}
	return next
}

// expired reports whether a key was replaced longer than its life ago.
func (k *ringKeyEntry) expired(now time.Time, life time.Duration) bool {
	return !k.Replaced.IsZero() && now.Sub(k.Replaced) > life
}

// unexpired returns the ring without expired keys: g itself if there are none.
func (g *ring) unexpired(now time.Time, life time.Duration) *ring {
	expired := func(k ringKeyEntry) bool { return k.ID != g.Current && k.expired(now, life) }
	if !slices.ContainsFunc(g.Keys, expired) {
		return g
	}
	return &ring{slices.DeleteFunc(slices.Clone(g.Keys), expired), g.Current}
}

// equal reports whether two rings have the same keys. Both may be nil.
func (g *ring) equal(other *ring) bool {
	if g == nil || other == nil {
		return g == other
	}
	return g.Current == other.Current && slices.EqualFunc(g.Keys, other.Keys, func(a, b ringKeyEntry) bool {
		return a.ID == b.ID && a.Replaced.Equal(b.Replaced)
	})
}

func newRingKey(now time.Time) ringKeyEntry {
	k := ringKeyEntry{ID: newID(), Secret: make([]byte, 32), Created: now.UTC().Truncate(time.Second)}
	rand.Read(k.Secret)
	return k
}

// loadRing reads the key ring from the store, or makes one if there is none. Of
// several replicas that start at once with an empty store, one makes it. loadRing
// drops expired keys, and adds those that the store has lost.
func (r *Replica) loadRing(ctx context.Context) error {
	for range 10 {
		g, version, err := r.readRing(ctx)
		if err != nil {
			return err
		}
		r.mu.Lock()
		mine, have := r.ring, r.version
		r.mu.Unlock()
		current := version != 0 && version == have && g.equal(mine)
		if current && len(g.Keys) == 1 { // which does not expire
			return nil
		}
		now, err := r.store.Now(ctx)
		if err != nil {
			return err
		}
		next := merge(g, mine, now, r.opts.KeyLife)
		if next != g {
			written, err := r.writeRing(ctx, next, version)
			switch {
			case errors.Is(err, ErrConflict):
				continue
			case err != nil && g != nil && !next.equal(mine): // keys expire also while the store is full
				return errors.Join(err, r.useRing(next, version))
			case err != nil:
				return err
			}
			return r.useRing(next, written)
		}
		if current {
			return nil
		}
		return r.useRing(g, version)
	}
	return fmt.Errorf("load the key ring: %w", ErrConflict)
}

// merge returns the ring for the store, which has the ring g, and for a replica that
// has the ring mine; each is nil if there is none. It is g itself if that is up to
// date. Keys that only the replica has were lost: the store was emptied, or went
// back to an earlier state.
func merge(g, mine *ring, now time.Time, life time.Duration) *ring {
	switch {
	case g == nil && mine == nil:
		k := newRingKey(now)
		return &ring{[]ringKeyEntry{k}, k.ID}
	case g == nil:
		return mine.unexpired(now, life)
	case mine == nil:
		return g.unexpired(now, life)
	}
	return g.unexpired(now, life).adopt(mine.unexpired(now, life), now)
}

// adopt returns the ring with the keys that only another one has, which only open:
// g itself if there are none.
func (g *ring) adopt(other *ring, now time.Time) *ring {
	next := g
	for _, k := range other.Keys {
		if g.has(k.ID) || len(next.Keys) >= maxRing {
			continue
		}
		if k.Replaced.IsZero() {
			k.Replaced = now
		}
		next = &ring{append(slices.Clone(next.Keys), k), g.Current}
	}
	return next
}

// readRing returns the ring in the store; version 0 means that there is none.
func (r *Replica) readRing(ctx context.Context) (*ring, int64, error) {
	raw, version, err := r.store.Get(ctx, ringKey, ringTTL)
	if err != nil || version == 0 {
		return nil, 0, err
	}
	sealed := len(raw) > 0 && raw[0] == ringSealed
	switch {
	case sealed && len(r.opts.Secret) == 0:
		return nil, 0, errors.New("the keys of this cluster are encrypted: the cluster secret is missing")
	case !sealed && len(r.opts.Secret) > 0:
		return nil, 0, errors.New("the keys of this cluster are not encrypted: its replicas have no cluster secret. Start this one without a secret, too; " + newSecret)
	case sealed:
		aead, err := r.ringCipher()
		if err != nil {
			return nil, 0, err
		}
		if raw, err = aead.Open(nil, nil, raw[1:], nil); err != nil {
			return nil, 0, errors.New("cannot decrypt the keys of this cluster: its replicas have another cluster secret. Use the same; " + newSecret)
		}
	}
	g := new(ring)
	if err := json.Unmarshal(raw, g); err != nil || !g.has(g.Current) {
		return nil, 0, errors.New("the key ring in the store is invalid")
	}
	return g, version, nil
}

// newSecret says how a cluster gets another secret.
const newSecret = "to change the secret, stop all replicas and give them another prefix in the store"

// ringSealed is the first byte of an encrypted ring. One that is not encrypted
// begins with a brace.
const ringSealed = 'e'

func (r *Replica) writeRing(ctx context.Context, g *ring, version int64) (int64, error) {
	raw, err := json.Marshal(g)
	if err != nil {
		return 0, err
	}
	if len(r.opts.Secret) > 0 {
		aead, err := r.ringCipher()
		if err != nil {
			return 0, err
		}
		raw = aead.Seal([]byte{ringSealed}, nil, raw, nil)
	}
	return r.store.Set(ctx, ringKey, raw, version, ringTTL)
}

// CheckSecret returns an error if secret is not that of the replicas that use store.
// It returns nil if there were none yet, unless the secret is too short.
func CheckSecret(ctx context.Context, store Store, secret []byte) error {
	if err := CheckSecretLength(secret); err != nil {
		return err
	}
	_, _, err := (&Replica{store: store, opts: Options{Secret: secret}}).readRing(ctx)
	return err
}

// CheckSecretLength returns an error if secret is too short for [Options]. An empty
// one means that there is none.
func CheckSecretLength(secret []byte) error {
	if n := len(secret); n > 0 && n < 16 {
		return fmt.Errorf("the cluster secret has %d bytes: it needs at least 16 bytes", n)
	}
	return nil
}

func (r *Replica) ringCipher() (cipher.AEAD, error) {
	return SecretCipher(r.opts.Secret, "key ring")
}

// SecretCipher returns the cipher for what replicas with a secret store for a
// purpose. It chooses its nonces itself. An empty or short secret is an error.
func SecretCipher(secret []byte, purpose string) (cipher.AEAD, error) {
	if len(secret) == 0 {
		return nil, errors.New("the cluster secret is missing")
	}
	if err := CheckSecretLength(secret); err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "tenon cluster "+purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// useRing makes a ring the one that this replica uses. Only Join and the renewing
// goroutine call it. When it returns, all watchers can open what the keys seal.
func (r *Replica) useRing(g *ring, version int64) error {
	state, err := newTLSState(r.id, g)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.ring, r.version, r.tls = g, version, state
	watchers := slices.Collect(maps.Keys(r.watchers))
	r.mu.Unlock()
	for _, w := range watchers {
		if err := r.show(w); err != nil {
			return err
		}
	}
	return nil
}

// RotateKeys makes a new key the one that seals. It first waits until every live
// replica can open what the new key seals. Replaced keys open for
// [Options].KeyLife.
func (r *Replica) RotateKeys(ctx context.Context) error {
	err := r.rotate(ctx)
	if err != nil {
		return fmt.Errorf("rotate the keys of the cluster: %w", err)
	}
	return nil
}

func (r *Replica) rotate(ctx context.Context) error {
	now, err := r.store.Now(ctx)
	if err != nil {
		return err
	}
	k := newRingKey(now)
	version, err := r.changeRing(ctx, func(g *ring) (*ring, error) {
		if len(g.Keys) >= maxRing { // the oldest that only opens makes room
			g = &ring{slices.Clone(g.Keys[:maxRing-1]), g.Current}
		}
		if !g.has(g.Current) {
			return nil, errors.New("too many rotations have not been completed")
		}
		return g.with(k), nil
	})
	if err != nil {
		return err
	}
	if err := r.awaitRing(ctx, version); err != nil {
		return err
	}
	_, err = r.changeRing(ctx, func(g *ring) (*ring, error) {
		if !g.has(k.ID) {
			return nil, errors.New("the key ring was replaced meanwhile")
		}
		if now, err = r.store.Now(ctx); err != nil {
			return nil, err
		}
		return g.sealWith(k.ID, now, r.opts.KeyLife), nil
	})
	return err
}

// changeRing changes the ring in the store and tells all replicas, this one
// included.
func (r *Replica) changeRing(ctx context.Context, change func(*ring) (*ring, error)) (version int64, err error) {
	for range 10 {
		g, old, err := r.readRing(ctx)
		if err != nil {
			return 0, err
		}
		if old == 0 {
			return 0, errors.New("the store has no key ring")
		}
		next, err := change(g)
		if err != nil {
			return 0, err
		}
		version, err = r.writeRing(ctx, next, old)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return 0, err
		}
		r.look()
		return version, r.store.Publish(ctx, ringTopic, nil)
	}
	return 0, ErrConflict
}

// awaitRing waits until every live replica has loaded a version of the ring. A
// replica that does not follow loses its membership, or the rotation fails.
func (r *Replica) awaitRing(ctx context.Context, version int64) error {
	ctx, cancel := context.WithTimeout(ctx, 3*r.opts.Lease)
	defer cancel()
	for {
		members, err := r.Members(ctx)
		i := slices.IndexFunc(members, func(m Member) bool { return m.Ring < version })
		if err == nil && i < 0 {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			if err != nil {
				return err
			}
			return fmt.Errorf("the replica %s (%s) has not loaded the new key", members[i].ID, members[i].Addr)
		}
	}
}

// A Key describes a key of the cluster, without its secret.
type Key struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Seals    bool      `json:"seals"`             // it is the one that seals
	Replaced time.Time `json:"replaced,omitzero"` // since when it only opens
}

// keys describes the keys in the ring, the newest first.
func (r *Replica) keys() (keys []Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.ring.Keys {
		keys = append(keys, Key{ID: k.ID, Created: k.Created, Seals: k.ID == r.ring.Current, Replaced: k.Replaced})
	}
	return keys
}

// A keyWatcher calls a function with the secrets after each change of the ring.
type keyWatcher struct {
	purpose string
	use     func(secrets [][]byte)
}

// WatchKeys calls use with secrets for a purpose, which all replicas derive alike
// from the keys of the cluster: the first seals, all of them open. It calls use
// before it returns, and after each rotation until stop is called. use must not
// block.
func (r *Replica) WatchKeys(purpose string, use func(secrets [][]byte)) (stop func(), err error) {
	w := &keyWatcher{purpose, use}
	r.mu.Lock()
	r.watchers[w] = struct{}{}
	r.mu.Unlock()
	stop = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, w)
	}
	if err := r.show(w); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// show calls a watcher with the secrets, and again if the ring has changed
// meanwhile, so that its last call has the newest.
func (r *Replica) show(w *keyWatcher) error {
	for {
		r.mu.Lock()
		g := r.ring
		r.mu.Unlock()
		secrets, err := derive(g.ordered(), w.purpose)
		if err != nil {
			return err
		}
		w.use(secrets)
		r.mu.Lock()
		same := g == r.ring
		r.mu.Unlock()
		if same {
			return nil
		}
	}
}

// derive derives a secret for a purpose from each key.
func derive(keys []ringKeyEntry, purpose string) (secrets [][]byte, err error) {
	for _, k := range keys {
		s, err := hkdf.Key(sha256.New, k.Secret, nil, "tenon cluster "+purpose, 32)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, s)
	}
	return secrets, nil
}
