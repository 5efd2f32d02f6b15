package protect

import (
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
	names := map[string]bool{}
	for _, k := range f.Keys {
		if _, err := parseHash(k.Hash); err != nil {
			return nil, fmt.Errorf("read API keys: key %q: %w", k.Name, err)
		}
		if k.Name == "" || names[k.Name] {
			return nil, fmt.Errorf("read API keys: the name %q is empty or used twice", k.Name)
		}
		names[k.Name] = true
	}
	return f.Keys, nil
}

// EncodeKeys returns the content of a file of keys.
func EncodeKeys(keys []StoredKey) ([]byte, error) {
	if keys == nil {
		keys = []StoredKey{}
	}
	data, err := json.Marshal(keyFile{keys}, jsontext.WithIndent("  "))
	return append(data, '\n'), err
}

// KeyFile returns a Verifier for the API keys in a file, which only its owner may
// write. It reads the file again when it has changed, so that a key which is added
// or removed counts from the next request on. While the file cannot be read, no
// key is accepted: the error is [ErrUnavailable].
//
// The principals have the issuer "api-key", and their groups in the claim
// groupClaim; empty means "groups".
func KeyFile(file, groupClaim string) Verifier {
	if groupClaim == "" {
		groupClaim = "groups"
	}
	return &fileKeys{file: file, claim: groupClaim}
}

type fileKeys struct {
	file, claim string

	mu   sync.Mutex
	info os.FileInfo // of the file that keys are from; nil if none
	keys apiKeys
}

// Verify implements Verifier.
func (f *fileKeys) Verify(_ context.Context, token string, _ *http.Request) (*Identity, error) {
	keys, err := f.current()
	if err != nil {
		return nil, unavailable(err)
	}
	id, err := keys.find(token)
	if err == nil && !id.Expires.IsZero() && !time.Now().Before(id.Expires) {
		return nil, invalid("the API key has expired")
	}
	return id, err
}

// current returns the keys of the file.
func (f *fileKeys) current() (apiKeys, error) {
	info, err := os.Stat(f.file)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info != nil && os.SameFile(f.info, info) && f.info.ModTime().Equal(info.ModTime()) && f.info.Size() == info.Size() {
		return f.keys, nil
	}
	f.info, f.keys = nil, nil
	keys, info, err := readKeyFile(f.file)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		f.keys = append(f.keys, k.identity(f.claim))
	}
	f.info = info
	return f.keys, nil
}

// readKeyFile reads a file of keys, which others must not be able to change.
func readKeyFile(name string) ([]StoredKey, os.FileInfo, error) {
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
	keys, err := DecodeKeys(data)
	return keys, info, err
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

// find compares a token with every key in constant time.
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
