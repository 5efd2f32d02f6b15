package keyring_test

import (
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/auth/tokens/keyring"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	system "github.com/zalando/go-keyring"
)

// The keyrings of these tests are the library's own in memory; that of the
// machine is not touched.

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestKeyring(t *testing.T) {
	system.MockInit()
	back := &tokens.Memory{}
	for _, s := range []*keyring.Store{{Service: "tenon-test"}, {Fallback: back}} {
		if _, err := s.Load(t.Context(), "k"); !errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("error %v", err)
		}
		for _, text := range []string{"first", "second\x00\xff"} {
			if err := s.Save(t.Context(), "k", tokens.Secret(text)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Load(t.Context(), "k"); err != nil || string(got) != text {
				t.Errorf("%q, %v", []byte(got), err)
			}
		}
		if _, err := back.Load(t.Context(), "k"); !errors.Is(err, tokens.ErrNotFound) {
			t.Error("it was kept in the fallback, too")
		}
		for range 2 {
			if err := s.Delete(t.Context(), "k"); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Load(t.Context(), "k"); !errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("error %v", err)
		}
	}
}

func TestNoKeyring(t *testing.T) {
	broken := errors.New("no keyring here")
	system.MockInitWithError(broken)
	if err := (&keyring.Store{}).Save(t.Context(), "k", tokens.Secret("s")); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	s := &keyring.Store{Fallback: &tokens.Memory{}}
	if err := s.Save(t.Context(), "k", tokens.Secret("s")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(t.Context(), "k"); err != nil || string(got) != "s" {
		t.Errorf("%q, %v", []byte(got), err)
	}
	if err := s.Delete(t.Context(), "k"); err != nil {
		t.Error(err)
	}
}
