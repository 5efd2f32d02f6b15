package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func keys(t *testing.T, text ...string) *sealed.Keys {
	t.Helper()
	k, err := sealed.ParseKeys(strings.Join(text, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// files returns the files of the values.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

// What is at rest shows neither a token nor whose it is.
func TestNothingIsReadableAtRest(t *testing.T) {
	ctx := t.Context()
	s := &sealed.Files{Dir: filepath.Join(t.TempDir(), "logins"), Keys: keys(t, sealed.NewKey())}
	const name, token = "token https://notes.example/mcp for https://idp.example\x00alice", "refresh-token-of-alice"
	if _, err := s.Load(ctx, name); !errors.Is(err, tokens.ErrNotFound) {
		t.Fatalf("an empty store: %v", err)
	}
	for range 2 {
		if err := s.Save(ctx, name, tokens.Secret(token)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Load(ctx, name); err != nil || string(got) != token {
			t.Fatalf("%q, %v", []byte(got), err)
		}
	}
	all := files(t, s.Dir)
	if len(all) != 1 {
		t.Fatalf("files: %q", all)
	}
	data, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, "alice", "notes", "idp"} {
		if bytes.Contains(data, []byte(secret)) || strings.Contains(all[0], secret) {
			t.Errorf("%q is readable", secret)
		}
	}
	if names, bad, err := s.Names(ctx); err != nil || bad != 0 || !slices.Equal(names, []string{name}) {
		t.Errorf("names %q, %d unreadable, %v", names, bad, err)
	}
	if err := s.Delete(ctx, name); err != nil {
		t.Fatal(err)
	}
	if names, _, err := s.Names(ctx); err != nil || len(names) != 0 {
		t.Errorf("names %q, %v", names, err)
	}
}

// Every changed byte, another key, and the file of another user are refused.
func TestForgeriesDoNotOpen(t *testing.T) {
	ctx := t.Context()
	s := &sealed.Files{Dir: t.TempDir(), Keys: keys(t, sealed.NewKey())}
	if err := s.Save(ctx, "alice", tokens.Secret("token of alice")); err != nil {
		t.Fatal(err)
	}
	at := files(t, s.Dir)[0]
	good, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(at, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Load(ctx, "alice"); !errors.Is(err, sealed.ErrKey) {
			t.Fatalf("byte %d changed: %q, %v", i, []byte(got), err)
		}
	}
	for _, n := range []int{0, 10, len(good) - 1} {
		if err := os.WriteFile(at, good[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(ctx, "alice"); !errors.Is(err, sealed.ErrKey) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if err := os.WriteFile(at, good, 0o600); err != nil {
		t.Fatal(err)
	}
	other := &sealed.Files{Dir: s.Dir, Keys: keys(t, sealed.NewKey())}
	if _, err := other.Load(ctx, "alice"); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("another key: %v", err)
	}
	if names, bad, err := other.Names(ctx); len(names) != 0 || bad != 1 || err != nil {
		t.Errorf("another key: %q, %d, %v", names, bad, err)
	}
	if err := s.Save(ctx, "mallory", tokens.Secret("x")); err != nil {
		t.Fatal(err)
	}
	for _, f := range files(t, s.Dir) { // mallory gets the file of alice
		if f != at {
			if err := os.WriteFile(f, good, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := s.Load(ctx, "mallory"); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("the token of alice for mallory: %q, %v", []byte(got), err)
	}
	if n, err := s.DeleteUnreadable(ctx); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if got, err := s.Load(ctx, "alice"); err != nil || string(got) != "token of alice" {
		t.Errorf("%q, %v", []byte(got), err)
	}
}

// A new key seals, the old one still opens, and after Reseal it is not needed.
func TestKeysAreRotated(t *testing.T) {
	ctx := t.Context()
	dir, first, second := t.TempDir(), sealed.NewKey(), sealed.NewKey()
	old := &sealed.Files{Dir: dir, Keys: keys(t, first)}
	for i := range 5 {
		if err := old.Save(ctx, fmt.Sprint(i), tokens.Secret("secret")); err != nil {
			t.Fatal(err)
		}
	}
	both := &sealed.Files{Dir: dir, Keys: keys(t, "# the new key", second, "", first)}
	if err := both.Save(ctx, "0", tokens.Secret("secret")); err != nil {
		t.Fatal(err)
	}
	if n, err := both.Reseal(ctx); n != 4 || err != nil {
		t.Errorf("resealed %d, %v", n, err)
	}
	after := &sealed.Files{Dir: dir, Keys: keys(t, second)}
	for i := range 5 {
		if got, err := after.Load(ctx, fmt.Sprint(i)); err != nil || string(got) != "secret" {
			t.Errorf("%d: %q, %v", i, []byte(got), err)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "logins.key")
	var wg sync.WaitGroup
	var mu sync.Mutex
	stores := []*sealed.Files{}
	dir := t.TempDir()
	for range 8 { // of those that start together, one creates the key
		wg.Go(func() {
			k, err := sealed.MakeKeyFile(path)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			stores = append(stores, &sealed.Files{Dir: dir, Keys: k})
		})
	}
	wg.Wait()
	if err := stores[0].Save(t.Context(), "a", tokens.Secret("x")); err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		if _, err := s.Load(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the key: %v, %v", entries, err)
	}
	for _, bad := range []string{"short", strings.Repeat("A", 43) + "\n!", ""} {
		if _, err := sealed.ParseKeys(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if runtime.GOOS == "windows" {
		return // it has no modes
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sealed.KeyFile(path); err == nil || !strings.Contains(err.Error(), "accessible to other users") {
		t.Errorf("a key for everybody: %v", err)
	}
}

// Keys are not shown, however they are printed.
func TestKeysAreNotPrinted(t *testing.T) {
	text := sealed.NewKey()
	k := keys(t, text)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, k); got != "(keys)" {
			t.Errorf("%s: %q", verb, got)
		}
	}
}

func ExampleFiles() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	keys, err := sealed.MakeKeyFile(filepath.Join(dir, "key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	store := &sealed.Files{Dir: filepath.Join(dir, "logins"), Keys: keys}
	err = store.Save(context.Background(), "alice at notes", tokens.Secret("token"))
	names, _, _ := store.Names(context.Background())
	fmt.Println(err, names)
	// Output: <nil> [alice at notes]
}

// Derived keys are the same for the same key and purpose, and others otherwise.
func TestDerive(t *testing.T) {
	keys := func(names ...byte) *sealed.Keys {
		var raw [][]byte
		for _, name := range names {
			raw = append(raw, bytes.Repeat([]byte{name}, sealed.KeySize))
		}
		k, err := sealed.NewKeys(raw...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	derive := func(k *sealed.Keys, purpose string) [][]byte {
		all, err := k.Derive(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	one, two := derive(keys(1), "x"), derive(keys(2, 1), "x")
	if len(one) != 1 || len(two) != 2 || len(one[0]) != sealed.KeySize || !bytes.Equal(one[0], two[1]) || bytes.Equal(one[0], two[0]) {
		t.Errorf("%x and %x", one, two)
	}
	if bytes.Equal(one[0], derive(keys(1), "y")[0]) || bytes.Equal(one[0], bytes.Repeat([]byte{1}, sealed.KeySize)) {
		t.Error("the purpose does not count")
	}
}
