package clusterkeys

import (
	"context"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/cluster"
)

// A document is a version of the keys.
type document struct {
	// serial is larger in a later document: it is the time of the change in
	// microseconds by the clock of the store, or one more than the serial before. So
	// a change in a store that was emptied or went back to an earlier state is later
	// than what replicas know from before. Older versions of Tenon count from 1.
	serial uint64
	keys   []protect.StoredKey
	digest [sha256.Size]byte // of the keys as they were read
}

// The first byte of a stored document.
const (
	plain     = 0
	encrypted = 1
)

// load reads the document; version 0 means that there is none.
func load(ctx context.Context, store cluster.Store, secret []byte) (d document, version int64, err error) {
	if err := cluster.CheckSecretLength(secret); err != nil {
		return d, 0, err
	}
	raw, version, err := store.Get(ctx, storeKey, ttl)
	if err != nil || version == 0 {
		return d, 0, err
	}
	if raw, err = open(raw, secret); err != nil {
		return d, 0, err
	}
	if len(raw) < 8 {
		return d, 0, errors.New("read API keys: the stored value is too short")
	}
	d.serial, d.digest = binary.BigEndian.Uint64(raw), sha256.Sum256(raw[8:])
	d.keys, err = protect.DecodeKeys(raw[8:])
	return d, version, err
}

// save stores a document that replicas can use, if the stored version is the
// expected one.
func save(ctx context.Context, store cluster.Store, d document, version int64, secret []byte) error {
	if _, err := protect.VerifyStored(d.keys, ""); err != nil {
		return err
	}
	text, err := protect.EncodeKeys(d.keys)
	if err != nil {
		return err
	}
	raw := append(binary.BigEndian.AppendUint64(nil, d.serial), text...)
	if len(secret) == 0 {
		raw = append([]byte{plain}, raw...)
	} else {
		aead, err := sealer(secret)
		if err != nil {
			return err
		}
		raw = aead.Seal([]byte{encrypted}, nil, raw, nil)
	}
	_, err = store.Set(ctx, storeKey, raw, version, ttl)
	return err
}

// open returns the content of a stored document.
func open(raw, secret []byte) ([]byte, error) {
	switch {
	case len(raw) == 0 || raw[0] > encrypted:
		return nil, errors.New("read API keys: a newer version of Tenon has stored them")
	case raw[0] == plain && len(secret) == 0:
		return raw[1:], nil
	case raw[0] == plain:
		return nil, errors.New("read API keys: they are not encrypted, although there is a cluster secret")
	case len(secret) == 0:
		return nil, errors.New("read API keys: they are encrypted with the cluster secret, and none was given")
	}
	aead, err := sealer(secret)
	if err != nil {
		return nil, err
	}
	text, err := aead.Open(nil, nil, raw[1:], nil)
	if err != nil {
		return nil, errors.New("read API keys: they are encrypted with another cluster secret, or were changed")
	}
	return text, nil
}

// sealer returns the cipher for a secret.
func sealer(secret []byte) (cipher.AEAD, error) { return cluster.SecretCipher(secret, "api keys") }
