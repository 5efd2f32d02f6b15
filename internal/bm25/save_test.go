package bm25_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

func someIndex() *bm25.Index {
	r := rand.New(rand.NewPCG(1, 2))
	x := bm25.New(5, 1)
	put := func(i int) {
		var text strings.Builder
		for range 100 + r.IntN(300) {
			fmt.Fprintf(&text, "word%d ", int(r.ExpFloat64()*200))
		}
		x.Put(fmt.Sprint("doc", i), fmt.Sprint("title ", i), text.String())
	}
	for i := range 500 {
		put(i)
	}
	for i := 0; i < 500; i += 7 {
		put(i)
	}
	x.Remove("doc8")
	return x
}

func save(t *testing.T, x *bm25.Index) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := x.Save(bufio.NewWriter(&b)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(b []byte) (*bm25.Index, error) {
	return bm25.Load(bufio.NewReader(bytes.NewReader(b)), 5, 1)
}

// A loaded index finds what the saved one found, and goes on as it would.
func TestSave(t *testing.T) {
	x := someIndex()
	y, err := load(save(t, x))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if x.Len() != y.Len() {
			t.Errorf("%d documents, want %d", y.Len(), x.Len())
		}
		for i := range 300 {
			q := fmt.Sprintf("word%d word%d title", i, i*3)
			a, b := x.Search(q, 20, nil), y.Search(q, 20, nil)
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("round %d, %q:\n%v\n%v", round, q, a, b)
			}
		}
		for _, z := range []*bm25.Index{x, y} {
			for i := range 400 {
				z.Put(fmt.Sprint("doc", i), "again", fmt.Sprintf("word%d new%d", i, i))
			}
		}
	}
}

// What was not written by Save, or not wholly, is an error and no panic.
func TestLoadDamaged(t *testing.T) {
	whole := save(t, someIndex())
	for cut := range 2000 {
		if _, err := load(whole[:cut*len(whole)/2000]); err == nil {
			t.Fatalf("%d bytes of %d were accepted", cut*len(whole)/2000, len(whole))
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := bytes.Clone(whole)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		load(b) // either way, as long as it ends
	}
	if _, err := bm25.Load(bufio.NewReader(bytes.NewReader(whole)), 1, 1); err == nil {
		t.Error("an index with other weights was accepted")
	}
}
