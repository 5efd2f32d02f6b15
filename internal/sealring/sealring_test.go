package sealring_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/sealring"
)

const one, two, three = "secret number one", "secret number two", "secret number three"

func sealed(t *testing.T, r *sealring.Ring, plain, binding string) []byte {
	t.Helper()
	s, err := r.Seal([]byte(plain), []byte(binding))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func opens(r *sealring.Ring, s []byte, binding string) bool {
	_, ok := r.Open(s, []byte(binding))
	return ok
}

// What one ring seals opens with the same secret, purpose and binding only, and
// not if a byte was changed.
func TestOnlyTheSameRingOpens(t *testing.T) {
	r, same, other, purpose := sealring.New("a"), sealring.New("a"), sealring.New("a"), sealring.New("b")
	for ring, secret := range map[*sealring.Ring]string{r: one, same: one, other: two, purpose: one} {
		if err := ring.Rotate([]byte(secret)); err != nil {
			t.Fatal(err)
		}
	}
	s := sealed(t, r, "plain", "me")
	if plain, ok := same.Open(s, []byte("me")); !ok || string(plain) != "plain" {
		t.Errorf("%q %v", plain, ok)
	}
	if opens(r, s, "you") || opens(other, s, "me") || opens(purpose, s, "me") || opens(r, nil, "me") {
		t.Error("it opens elsewhere")
	}
	for i := range s {
		s[i] ^= 1
		if opens(r, s, "me") {
			t.Errorf("it opens with byte %d changed", i)
		}
		s[i] ^= 1
	}
}

// Replaced secrets open as long as they are in the ring.
func TestReplace(t *testing.T) {
	r := sealring.New("a")
	random := sealed(t, r, "x", "")
	if err := r.Replace([]byte(one), []byte(two)); err != nil {
		t.Fatal(err)
	}
	first := sealed(t, r, "x", "")
	if opens(r, random, "") || !opens(r, first, "") {
		t.Error("the random key opens, or the first does not")
	}
	if err := r.Replace([]byte(three), []byte(one)); err != nil {
		t.Fatal(err)
	}
	if !opens(r, first, "") {
		t.Error("a replaced key does not open")
	}
	if err := r.Replace([]byte("short")); err == nil || !opens(r, first, "") {
		t.Errorf("short secret: %v", err)
	}
	if err := r.Replace([]byte(three)); err != nil || opens(r, first, "") {
		t.Errorf("a dropped key opens (%v)", err)
	}
}
