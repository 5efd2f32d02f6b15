package sealring

import (
	"bytes"
	"testing"
)

// What was sealed opens with its binding and nothing else does: not with another
// binding, another purpose or one bit changed, and not what others made.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("record"), []byte("binding"), []byte("sealed by others"), 3)
	f.Add([]byte{}, []byte{}, []byte{}, 0)
	secret := bytes.Repeat([]byte("k"), minSecret)
	ring, other := New("one"), New("two")
	for _, r := range []*Ring{ring, other} {
		if err := r.Rotate(secret); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, plain, binding, foreign []byte, bit int) {
		if _, ok := ring.Open(foreign, binding); ok {
			t.Fatalf("%x opens, but was not sealed", foreign)
		}
		sealed, err := ring.Seal(plain, binding)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := ring.Open(sealed, binding); !ok || !bytes.Equal(got, plain) {
			t.Fatalf("opened %x, %v", got, ok)
		}
		if _, ok := other.Open(sealed, binding); ok {
			t.Fatal("it opens for another purpose")
		}
		if _, ok := ring.Open(sealed, append(bytes.Clone(binding), 'x')); ok {
			t.Fatal("it opens with another binding")
		}
		at := int(uint(bit) % uint(8*len(sealed)))
		sealed[at/8] ^= 1 << (at % 8)
		if _, ok := ring.Open(sealed, binding); ok {
			t.Fatalf("it opens with bit %d changed", at)
		}
	})
}
