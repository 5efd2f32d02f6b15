package tokens_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) {
	edittest.Main(map[string]edittest.Job{"save": saveJob, "count": countJob})
	leaktest.Main(m)
}

// saveJob saves tokens under keys of its own, and one that all processes save.
func saveJob(dir, name string, n int) (done []string) {
	s := &tokens.Files{Dir: dir}
	for i := range n {
		key := fmt.Sprintf("%s-%d", name, i)
		err := s.Save(context.Background(), key, tokens.Secret(key))
		if err == nil {
			err = s.Save(context.Background(), "common", tokens.Secret(strings.Repeat(name, 5000)))
		}
		if err != nil {
			panic(err)
		}
		done = append(done, key)
	}
	return done
}

// countJob adds one to a number, under the lock of its key.
func countJob(dir, _ string, n int) []string {
	s := &tokens.Files{Dir: dir}
	for range n {
		unlock, err := s.Lock(context.Background(), "number")
		if err != nil {
			panic(err)
		}
		old, err := s.Load(context.Background(), "number")
		if err == nil {
			n, _ := strconv.Atoi(string(old))
			err = s.Save(context.Background(), "number", tokens.Secret(strconv.Itoa(n+1)))
		}
		if err != nil {
			panic(err)
		}
		unlock()
	}
	return nil
}

// S1: processes that save tokens at once lose none and tear none, and a lock
// keeps them apart where one reads before it saves.
func TestProcessesSaveTokens(t *testing.T) {
	s := &tokens.Files{Dir: t.TempDir()}
	for _, all := range edittest.Run(t, "save", s.Dir, 4) {
		for _, key := range all {
			if got, err := s.Load(t.Context(), key); err != nil || string(got) != key {
				t.Errorf("%s: %q, %v", key, []byte(got), err)
			}
		}
	}
	if got, err := s.Load(t.Context(), "common"); err != nil || len(got) != 10000 || strings.ReplaceAll(string(got), string(got[:2]), "") != "" {
		t.Errorf("%d bytes, torn or missing: %v", len(got), err)
	}
	if err := s.Save(t.Context(), "number", tokens.Secret("0")); err != nil {
		t.Fatal(err)
	}
	edittest.Run(t, "count", s.Dir, 4)
	if got, err := s.Load(t.Context(), "number"); err != nil || string(got) != strconv.Itoa(edittest.Changes()) {
		t.Errorf("counted to %q of %d, %v", []byte(got), edittest.Changes(), err)
	}
}

func TestStores(t *testing.T) {
	for name, s := range map[string]tokens.Store{
		"memory": &tokens.Memory{},
		"files":  &tokens.Files{Dir: filepath.Join(t.TempDir(), "deep", "down")},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			want := func(key, text string) {
				t.Helper()
				got, err := s.Load(ctx, key)
				if text == "" && errors.Is(err, tokens.ErrNotFound) {
					return
				}
				if err != nil || string(got) != text {
					t.Errorf("%q: %q, %v, want %q", key, []byte(got), err, text)
				}
			}
			want("a", "")
			if err := s.Delete(ctx, "a"); err != nil {
				t.Error(err)
			}
			for _, key := range []string{"a", "b", "../../etc/passwd", "", strings.Repeat("x", 10000), "nul\x00"} {
				for _, text := range []string{"first", "second\x00\xff"} {
					if err := s.Save(ctx, key, tokens.Secret(text)); err != nil {
						t.Fatal(err)
					}
					want(key, text)
				}
			}
			if err := s.Delete(ctx, "a"); err != nil {
				t.Error(err)
			}
			want("a", "")
			want("b", "second\x00\xff")
		})
	}
}

// A file is its owner's alone, and there is nothing beside it.
func TestFilesAreNotForOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	s := &tokens.Files{Dir: dir}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := s.Save(t.Context(), "key", tokens.Secret(strings.Repeat(fmt.Sprint(i%10), 10000))); err != nil {
				t.Error(err)
			}
			got, err := s.Load(t.Context(), "key")
			if err != nil || len(got) != 10000 || strings.Trim(string(got), string(got[:1])) != "" {
				t.Errorf("%d bytes, torn or missing: %v", len(got), err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	name := filepath.Join(dir, entries[0].Name())
	for at, mode := range map[string]os.FileMode{dir: 0o700, name: 0o600} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", at, info.Mode(), err)
		}
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "accessible to other users") {
		t.Errorf("error %v", err)
	}
	if err := s.Save(t.Context(), "key", tokens.Secret("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(t.Context(), "key"); err != nil || string(got) != "new" {
		t.Errorf("a new token is as open as the old one was: %q, %v", got, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, name); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "key"); err == nil {
		t.Error("a link was followed")
	}
	if err := s.Save(t.Context(), "key", tokens.Secret("new")); err == nil {
		t.Error("a link was written through, or replaced")
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Mode().Perm() != 0o644 || info.Size() != 1 {
		t.Errorf("what a link leads to was touched: %v, %v", info.Mode(), err)
	}
}

// A lock keeps others out, by key, and can be waited for no longer than ctx.
func TestFilesLock(t *testing.T) {
	dir := t.TempDir()
	one, two := &tokens.Files{Dir: dir}, &tokens.Files{Dir: dir}
	unlock, err := one.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := two.Lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := two.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	unlock()
	again, err := two.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if err := one.Save(t.Context(), "a", tokens.Secret("x")); err != nil {
		t.Error(err)
	}
}
