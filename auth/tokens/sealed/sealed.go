// Package sealed stores the tokens of many users encrypted, in files or in a
// cluster's store, under a key that is elsewhere.
//
//	keys, err := sealed.KeyFile("/run/secrets/logins.key")
//	store := &sealed.Files{Dir: "/var/lib/tenon/logins", Keys: keys}
//
// A person who can read the files or the store, or a backup of them, learns neither
// the tokens nor the users. A person who can write them can delete a token or restore an older
// one, but cannot forge one or give a user the token of another.
package sealed

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/auth/tokens"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// ErrKey is the error for a value that none of the keys opens: the key has
// changed, or the file was modified.
var ErrKey = errors.New("no key opens the stored login")

// Keys are the keys of a store. The first seals; all of them open. To rotate the
// key, put a new one before the old ones, call [Store.Reseal], and remove the old
// ones. Keys are not printed.
type Keys struct{ all []key }

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
	raw  []byte
}

// String hides the keys.
func (*Keys) String() string { return "(keys)" }

// Format hides the keys from every verb of package fmt.
func (*Keys) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(keys)")) }

// NewKeys returns the keys, each of [KeySize] random bytes.
func NewKeys(raw ...[]byte) (*Keys, error) {
	k := new(Keys)
	for _, r := range raw {
		if len(r) != KeySize {
			return nil, fmt.Errorf("a key must have %d bytes, not %d", KeySize, len(r))
		}
		block, err := aes.NewCipher(r)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("tenon key id\x00"), r...))
		k.all = append(k.all, key{[idSize]byte(sum[:idSize]), aead, bytes.Clone(r)})
	}
	if len(k.all) == 0 {
		return nil, errors.New("there is no key")
	}
	return k, nil
}

// Derive returns further keys of [KeySize] bytes, one for each of the keys and in
// their order, for another purpose than the store. They tell nothing about the keys
// or those of other purposes.
func (k *Keys) Derive(purpose string) ([][]byte, error) {
	var all [][]byte
	for _, one := range k.all {
		derived, err := hkdf.Key(sha256.New, one.raw, nil, "tenon "+purpose, KeySize)
		if err != nil {
			return nil, err
		}
		all = append(all, derived)
	}
	return all, nil
}

// ParseKeys reads keys in base64, one in each line, the newest first. Empty lines
// and lines that begin with # are skipped. Its errors do not contain the text.
func ParseKeys(text string) (*Keys, error) {
	var raw [][]byte
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(strings.TrimSpace(line), "=")
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.NewReplacer("-", "+", "_", "/").Replace(line)
		r, err := base64.RawStdEncoding.DecodeString(line)
		if err != nil || len(r) != KeySize {
			return nil, fmt.Errorf("line %d is not a key: it must be %d bytes in base64", i+1, KeySize)
		}
		raw = append(raw, r)
	}
	return NewKeys(raw...)
}

// A sealed value is
//
//	magic, id of the key, nonce, AES-256-GCM of (length of the name, name, value)
//
// with the digest of the name as additional data, which is also the name of the
// file. So a file that is renamed to that of another user does not open.
const (
	magic     = "tenon-sealed-1\n"
	idSize    = 8
	nonceSize = 12
)

// seal returns a value sealed with the first key.
func (k *Keys) seal(name string, value []byte) []byte {
	first := k.all[0]
	plain := binary.AppendUvarint(nil, uint64(len(name)))
	plain = append(append(plain, name...), value...)
	out := append([]byte(magic), first.id[:]...)
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // it never fails
	out = append(out, nonce...)
	return first.aead.Seal(out, nonce, plain, []byte(digest(name)))
}

// open returns the name and the value of a sealed value from the file with the
// digest of its name, and whether it was sealed with the first key.
func (k *Keys) open(digest string, data []byte) (name string, value []byte, current bool, err error) {
	body, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(body) < idSize+nonceSize {
		return "", nil, false, ErrKey
	}
	id, nonce, text := body[:idSize], body[idSize:idSize+nonceSize], body[idSize+nonceSize:]
	at := slices.IndexFunc(k.all, func(one key) bool { return bytes.Equal(one.id[:], id) })
	if at < 0 {
		return "", nil, false, ErrKey
	}
	plain, err := k.all[at].aead.Open(nil, nonce, text, []byte(digest))
	if err != nil {
		return "", nil, false, ErrKey
	}
	n, size := binary.Uvarint(plain)
	if size <= 0 || n > uint64(len(plain)-size) {
		return "", nil, false, ErrKey
	}
	plain = plain[size:]
	return string(plain[:n]), plain[n:], at == 0, nil
}

// digest returns the name of the file of a key of the store.
func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// Files is a [Store] of sealed files. Several processes may use one directory.
// Files replaces a file atomically, so a
// crash leaves the old content or the new.
type Files struct {
	// Dir is the directory, which the first Save creates. It is required.
	Dir string
	// Keys seal and open the files. They are required.
	Keys *Keys
}

func (f *Files) files() *tokens.Files { return &tokens.Files{Dir: f.Dir} }

// Load implements [tokens.Store]. A value that no key opens is an error that is
// [ErrKey].
func (f *Files) Load(ctx context.Context, name string) (tokens.Secret, error) {
	data, err := f.files().Load(ctx, name)
	if err != nil {
		return nil, err
	}
	found, value, _, err := f.Keys.open(digest(name), data)
	if err == nil && found != name {
		err = ErrKey
	}
	return value, err
}

// Save implements [tokens.Store].
func (f *Files) Save(ctx context.Context, name string, s tokens.Secret) error {
	return f.files().Save(ctx, name, f.Keys.seal(name, s))
}

// Delete implements [tokens.Store].
func (f *Files) Delete(ctx context.Context, name string) error { return f.files().Delete(ctx, name) }

// Lock implements [tokens.Locker].
func (f *Files) Lock(ctx context.Context, name string) (unlock func(), err error) {
	return f.files().Lock(ctx, name)
}

// Names implements [Store].
func (f *Files) Names(ctx context.Context) (names []string, unreadable int, err error) {
	return namesIn(ctx, f)
}

// Reseal implements [Store].
func (f *Files) Reseal(ctx context.Context) (n int, err error) { return resealIn(ctx, f) }

// DeleteUnreadable implements [Store].
func (f *Files) DeleteUnreadable(ctx context.Context) (n int, err error) {
	return deleteUnreadableIn(ctx, f)
}

// digests returns the names of the files of values.
func (f *Files) digests(context.Context) (all []string, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the stored logins: %w", err)
	}
	for _, e := range entries {
		if raw, err := hex.DecodeString(e.Name()); err == nil && len(raw) == sha256.Size && e.Type().IsRegular() {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// read opens the file of a value.
func (f *Files) read(_ context.Context, file string) (name string, value []byte, current bool, err error) {
	data, err := os.ReadFile(filepath.Join(f.Dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		err = tokens.ErrNotFound
	}
	if err != nil {
		return "", nil, false, err
	}
	return f.Keys.open(file, data)
}

func (f *Files) remove(_ context.Context, file string) error {
	return os.Remove(filepath.Join(f.Dir, file))
}
