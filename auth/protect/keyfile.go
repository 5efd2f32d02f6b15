package protect

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// A StoredKey is an API key in a file; see [KeyFile]. It has the hash of the key,
// never the key.
type StoredKey struct {
	// Name identifies the key, and becomes the ID of its principal.
	Name string `json:"name"`
	// Hash is the result of [HashKey].
	Hash string `json:"hash"`
	// Groups and Scopes are those of its principal.
	Groups []string `json:"groups,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	// Created is when the key was made. Expires is when it stops working; zero
	// means never.
	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// keyFile is the content of a file of keys.
type keyFile struct {
	Keys []StoredKey `json:"keys"`
}

// defaultGroupClaim is the claim with the groups of a principal.
const defaultGroupClaim = "groups"

// maxKeyFile bounds the size of a file of keys.
const maxKeyFile = 16 << 20

// NewKey returns a random API key.
func NewKey() string {
	b := make([]byte, 32)
	rand.Read(b)
	return "tk_" + base64.RawURLEncoding.EncodeToString(b)
}

// DecodeKeys parses the content of a file of keys. It is an error if two keys have
// the same name, or if one of them is not hashed.
func DecodeKeys(data []byte) ([]StoredKey, error) {
	var f keyFile
	if err := json.Unmarshal(data, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	if err := checkStored(f.Keys); err != nil {
		return f.Keys, fmt.Errorf("read API keys: %w", err)
	}
	return f.Keys, nil
}

// checkStored returns an error if two keys have the same name, or if one of them is
// not hashed.
func checkStored(keys []StoredKey) error {
	names := map[string]bool{}
	for _, k := range keys {
		if _, err := parseHash(k.Hash); err != nil {
			return fmt.Errorf("key %q: %w", k.Name, err)
		}
		if k.Name == "" || names[k.Name] {
			return fmt.Errorf("the name %q is empty or used twice", k.Name)
		}
		names[k.Name] = true
	}
	return nil
}

// EncodeKeys returns the content of a file of keys.
func EncodeKeys(keys []StoredKey) ([]byte, error) {
	if keys == nil {
		keys = []StoredKey{}
	}
	data, err := json.Marshal(keyFile{keys}, jsontext.WithIndent("  "))
	return append(data, '\n'), err
}

// KeyFileOptions configure a [KeyFile]. Nil means the defaults.
type KeyFileOptions struct {
	// GroupClaim is the claim with the groups of the principals. Empty means
	// "groups".
	GroupClaim string
	// Log gets a message when the file cannot be used, and when it can again. Nil
	// means [slog.Default].
	Log *slog.Logger
}

// A KeyFile is a Verifier for the API keys in a file, which only its owner may
// write. The principals have the issuer "api-key".
//
// It reads the file again when it has changed, so that a key which is added or
// removed counts from the next request on. If the new content is not valid, the
// keys of before stay in use. While the file is missing, or others can write it, no
// key is accepted: the error is [ErrUnavailable].
type KeyFile struct {
	file, claim string
	log         *slog.Logger

	mu      sync.Mutex
	seen    os.FileInfo // the file that was read last; nil if it could not be read
	keys    apiKeys     // of the last valid content
	usable  bool        // keys may be used
	problem error       // of the file; nil if there is none
}

// OpenKeyFile returns the keys of a file. It returns an error if the file cannot be
// used.
func OpenKeyFile(file string, o *KeyFileOptions) (*KeyFile, error) {
	f := &KeyFile{file: file, claim: defaultGroupClaim, log: slog.Default()}
	if o != nil {
		f.claim, f.log = cmp.Or(o.GroupClaim, f.claim), cmp.Or(o.Log, f.log)
	}
	f.readLocked() // nobody else has it yet
	return f, f.problem
}

// Check reads the file again if it has changed, logs what is wrong with it, and
// returns that.
func (f *KeyFile) Check() error {
	info, err := os.Stat(f.file)
	f.mu.Lock()
	if err == nil && f.seen != nil && os.SameFile(f.seen, info) && f.seen.ModTime().Equal(info.ModTime()) && f.seen.Size() == info.Size() && f.seen.Mode() == info.Mode() {
		defer f.mu.Unlock()
		return f.problem
	}
	before := f.problem
	f.readLocked()
	now, usable := f.problem, f.usable
	f.mu.Unlock()
	switch {
	case now == nil && before != nil:
		f.log.Info("the file of API keys is in use again", "file", f.file)
	case now == nil, before != nil && before.Error() == now.Error():
	case usable:
		f.log.Error("the new file of API keys is not used; the keys of before stay in use", "error", now)
	default:
		f.log.Error("the file of API keys cannot be used; every key is refused", "error", now)
	}
	return now
}

// Verify implements Verifier.
func (f *KeyFile) Verify(ctx context.Context, token string, r *http.Request) (*Identity, error) {
	problem := f.Check()
	f.mu.Lock()
	keys, usable := f.keys, f.usable
	f.mu.Unlock()
	if !usable {
		return nil, unavailable(problem)
	}
	return keys.Verify(ctx, token, r)
}

// VerifyStored returns a Verifier for API keys that the caller stores, of which
// there may be none. GroupClaim is as in [KeyFileOptions]. It returns an error for
// keys that [DecodeKeys] refuses.
func VerifyStored(keys []StoredKey, groupClaim string) (Verifier, error) {
	if err := checkStored(keys); err != nil {
		return nil, fmt.Errorf("check API keys: %w", err)
	}
	return storedKeys(keys, cmp.Or(groupClaim, defaultGroupClaim)), nil
}

// storedKeys returns keys that were checked.
func storedKeys(keys []StoredKey, claim string) apiKeys {
	all := make(apiKeys, 0, len(keys))
	for _, k := range keys {
		all = append(all, k.identity(claim))
	}
	return all
}

// readLocked reads the file.
func (f *KeyFile) readLocked() {
	data, info, err := readKeyFile(f.file)
	f.seen, f.problem = info, err
	if err != nil {
		f.keys, f.usable = nil, false
		return
	}
	stored, err := DecodeKeys(data)
	if err != nil {
		f.problem = fmt.Errorf("%s: %w", f.file, err)
		return
	}
	f.keys, f.usable = storedKeys(stored, f.claim), true
}

// readKeyFile reads a file of keys, which others must not be able to change.
func readKeyFile(name string) ([]byte, os.FileInfo, error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, nil, fmt.Errorf("%s: other users can write it; allow that to nobody else", name)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxKeyFile+1))
	if err == nil && len(data) > maxKeyFile {
		err = errors.New("the file is too large")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, info, nil
}

// identity returns the hash of a key and who uses it.
func (k *StoredKey) identity(claim string) apiKey {
	hash, _ := parseHash(k.Hash) // checked before
	id := &Identity{Principal: mcp.Principal{ID: k.Name, Issuer: ownIssuer, Scopes: k.Scopes}, Expires: k.Expires}
	if len(k.Groups) > 0 {
		groups, _ := stdjson.Marshal(k.Groups) // strings
		id.Principal.Claims = map[string]stdjson.RawMessage{claim: groups}
	}
	return apiKey{hash, id}
}

// parseHash decodes a result of HashKey.
func parseHash(hash string) (h tokenHash, err error) {
	text, ok := strings.CutPrefix(hash, keyPrefix)
	sum, err := hex.DecodeString(text)
	if !ok || err != nil || len(sum) != sha256.Size {
		return h, fmt.Errorf("an API key is not hashed; use the result of HashKey, which begins with %q", keyPrefix)
	}
	return tokenHash(sum), nil
}

// find compares a token with every key in constant time. It does not look whether
// the key has expired.
func (all apiKeys) find(token string) (*Identity, error) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range all {
		same := subtle.ConstantTimeCompare(sum[:], all[i].hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil, foreign("unknown API key")
	}
	return all[found].id, nil
}
