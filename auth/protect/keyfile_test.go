package protect

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestKeyFile follows changes of the file. A broken one changes nothing, and no key
// is accepted while there is none, or others can write it.
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
	var log strings.Builder
	o := &KeyFileOptions{GroupClaim: "roles", Log: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := OpenKeyFile(file, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	later := time.Now().Add(time.Hour).UTC().Round(time.Second)
	write()
	v, err := OpenKeyFile(file, o)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(key string) error { _, err := v.Verify(t.Context(), key, nil); return err }
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
	if verify(one) != nil || log.Len() > 0 {
		t.Errorf("a new key is refused, or a good file is logged: %s", &log)
	}
	os.WriteFile(file, []byte("{"), 0o600)
	if verify(one) != nil || v.Check() == nil || strings.Count(log.String(), "stay in use") != 1 || !isInvalid(verify(two)) {
		t.Errorf("with a broken file: %v %v; %s", verify(one), v.Check(), &log)
	}
	if _, err := OpenKeyFile(file, o); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a broken file is opened: %v", err)
	}
	os.Remove(file)
	if err := verify(one); !errors.Is(err, ErrUnavailable) || !strings.Contains(log.String(), "every key is refused") {
		t.Errorf("the file is gone: %v %s", err, &log)
	}
	write(stored(one, "one", time.Time{}))
	if verify(one) != nil || !strings.Contains(log.String(), "in use again") {
		t.Errorf("the file is back: %v; %s", verify(one), &log)
	}
	if runtime.GOOS != "windows" {
		os.Chmod(file, 0o622)
		if err := verify(one); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a file that others can write: %v", err)
		}
		if _, err := OpenKeyFile(file, o); err == nil {
			t.Error("a file that others can write is opened")
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
	keys, err := OpenKeyFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(&Options{Resource: resource, Verifier: AnyOf(), APIKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Wrap(http.HandlerFunc(echo))
	if w := do(h, post("{}", "Authorization: Bearer "+key)); w.Code != 200 || w.Body.String() != "build" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	expect(t, do(h, post("{}", "Authorization: Bearer "+NewKey())), 401, `error="invalid_token"`)
	if g, err = New(&Options{Resource: resource, APIKeys: keys}); err != nil {
		t.Fatal(err)
	}
	if w := do(g.Wrap(http.HandlerFunc(echo)), post("{}", "Authorization: Bearer "+key)); w.Code != 200 {
		t.Errorf("keys alone: %d", w.Code)
	}
}
