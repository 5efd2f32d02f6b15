package protect

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestKeyFile follows changes of the file, and accepts no key while it cannot be
// read.
func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	write := func(keys ...StoredKey) {
		t.Helper()
		data, err := EncodeKeys(keys)
		if err == nil {
			err = os.WriteFile(file+".new", data, 0o600)
		}
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := func(key, name string, expires time.Time) StoredKey {
		hash, err := HashKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return StoredKey{Name: name, Hash: hash, Groups: []string{"dev", "ops"}, Scopes: []string{"mcp"}, Expires: expires}
	}
	one, two, old := NewKey(), NewKey(), NewKey()
	v := KeyFile(file, "roles")
	verify := func(key string) error { _, err := v.Verify(t.Context(), key, nil); return err }
	if err := verify(one); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a file: %v", err)
	}
	later := time.Now().Add(time.Hour).UTC().Round(time.Second)
	write(stored(one, "one", time.Time{}), stored(two, "two", later), stored(old, "old", time.Now().Add(-time.Second)))
	id, err := v.Verify(t.Context(), two, nil)
	if err != nil || id.Principal.ID != "two" || id.Principal.Issuer != "api-key" || string(id.Principal.Claims["roles"]) != `["dev","ops"]` || !id.Expires.Equal(later) || id.Principal.Scopes[0] != "mcp" {
		t.Errorf("%+v %v", id, err)
	}
	if verify(one) != nil || !isInvalid(verify(one+"x")) || !isInvalid(verify("")) {
		t.Error("the wrong keys are accepted")
	}
	if err := verify(old); !isInvalid(err) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired key: %v", err)
	}
	write(stored(two, "two", later))
	if !isInvalid(verify(one)) || verify(two) != nil {
		t.Error("a removed key is accepted, or another one refused")
	}
	write()
	if !isInvalid(verify(two)) {
		t.Error("a key is accepted though there are none")
	}
	write(stored(one, "one", time.Time{}))
	if runtime.GOOS != "windows" {
		os.Chmod(file, 0o622)
		fresh := KeyFile(file, "")
		if _, err := fresh.Verify(t.Context(), one, nil); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a file that others can write: %v", err)
		}
	}
}

func TestDecodeKeysRefuses(t *testing.T) {
	hash, _ := HashKey(NewKey())
	for name, data := range map[string]string{
		"no JSON":        `{`,
		"not hashed":     `{"keys":[{"name":"a","hash":"secret"}]}`,
		"no name":        `{"keys":[{"hash":"` + hash + `"}]}`,
		"a name twice":   `{"keys":[{"name":"a","hash":"` + hash + `"},{"name":"a","hash":"` + hash + `"}]}`,
		"unknown member": `{"keys":[{"name":"a","hash":"` + hash + `","admin":true}]}`,
	} {
		if _, err := DecodeKeys([]byte(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestAPIKeysBesideTokens accepts both kinds of credentials.
func TestAPIKeysBesideTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	key := NewKey()
	hash, _ := HashKey(key)
	data, _ := EncodeKeys([]StoredKey{{Name: "build", Hash: hash}})
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := New(&Options{Resource: resource, Verifier: AnyOf(), APIKeys: KeyFile(file, "")})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Wrap(http.HandlerFunc(echo))
	if w := do(h, post("{}", "Authorization: Bearer "+key)); w.Code != 200 || w.Body.String() != "build" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	expect(t, do(h, post("{}", "Authorization: Bearer "+NewKey())), 401, `error="invalid_token"`)
	if g, err = New(&Options{Resource: resource, APIKeys: KeyFile(file, "")}); err != nil {
		t.Fatal(err)
	}
	if w := do(g.Wrap(http.HandlerFunc(echo)), post("{}", "Authorization: Bearer "+key)); w.Code != 200 {
		t.Errorf("keys alone: %d", w.Code)
	}
}
