// Package sealring seals short records with keys that are rotated: what leaves
// the process comes back unchanged and unread, or not at all.
package sealring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
)

const (
	maxKeys   = 8
	minSecret = 16
)

// A Ring is an ordered set of keys: the first seals, all of them open. An empty
// Ring makes a random key when it first seals.
type Ring struct {
	info string // keys for another purpose differ

	mu   sync.RWMutex
	keys []key
}

type key struct {
	id   [4]byte
	aead cipher.AEAD
}

// New returns an empty Ring for a purpose.
func New(purpose string) *Ring { return &Ring{info: purpose} }

// Rotate makes secret the one that seals. The older ones still open; beyond
// eight, the oldest is dropped.
func (r *Ring) Rotate(secret []byte) error {
	k, err := r.derive(secret)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pushLocked(k)
	return nil
}

func (r *Ring) pushLocked(k key) {
	r.keys = append([]key{k}, r.keys...)
	if len(r.keys) > maxKeys {
		r.keys = r.keys[:maxKeys]
	}
}

// Replace replaces all keys.
func (r *Ring) Replace(secrets ...[]byte) error {
	keys := make([]key, len(secrets))
	for i, s := range secrets {
		var err error
		if keys[i], err = r.derive(s); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
	return nil
}

func (r *Ring) derive(secret []byte) (key, error) {
	if len(secret) < minSecret {
		return key{}, errors.New("a secret for sealing state needs at least 16 bytes")
	}
	raw, err := hkdf.Key(sha256.New, secret, nil, r.info, 36)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(raw[:32])
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return key{[4]byte(raw[32:]), aead}, err
}

// current returns the key that seals. Most servers never need one, and to make
// it takes a while, so the random one is made late.
func (r *Ring) current() (key, error) {
	r.mu.RLock()
	if len(r.keys) > 0 {
		defer r.mu.RUnlock()
		return r.keys[0], nil
	}
	r.mu.RUnlock()
	secret := make([]byte, 32)
	rand.Read(secret)
	k, err := r.derive(secret)
	if err != nil {
		return key{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		r.pushLocked(k)
	}
	return r.keys[0], nil
}

// Seal encrypts plain. Only [Ring.Open] with the same binding opens it.
func (r *Ring) Seal(plain, binding []byte) ([]byte, error) {
	k, err := r.current()
	if err != nil {
		return nil, err
	}
	return k.aead.Seal(k.id[:], nil, plain, binding), nil
}

// Open returns what Seal has sealed with a key of the Ring and the same binding.
func (r *Ring) Open(sealed, binding []byte) (plain []byte, ok bool) {
	if len(sealed) < 4 {
		return nil, false
	}
	r.mu.RLock()
	keys := r.keys
	r.mu.RUnlock()
	for _, k := range keys {
		if [4]byte(sealed) != k.id {
			continue
		}
		if plain, err := k.aead.Open(nil, nil, sealed[4:], binding); err == nil {
			return plain, true
		}
	}
	return nil, false
}
