package bm25_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

func ids(hits []bm25.Hit) string {
	var all []string
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return strings.Join(all, " ")
}

func TestRanking(t *testing.T) {
	x := bm25.New(5, 1) // title, body
	filler := strings.Repeat("lorem ipsum dolor ", 20)
	docs := map[string][2]string{
		"title":  {"Garden", filler},
		"body":   {"Other", filler + " garden"},
		"often":  {"Other", filler + " garden garden garden"},
		"longer": {"Gardening", filler},
		"both":   {"Plan", "the garden in spring " + filler},
		"none":   {"Nothing", filler},
		"code":   {"API", "call readNote or search_notes " + filler},
		"jp":     {"旅行", "東京都に行く"},
		"fr":     {"Été", "une idée " + filler},
	}
	for id, d := range docs {
		x.Put(id, d[0], d[1])
	}
	rows := []struct{ query, want string }{
		{"garden", "title often body both longer"},
		{"GARDEN!", "title often body both longer"},
		{"garden spring", "both title often body longer"},
		{"gardens", "title often body both"},
		{"read", "code"},
		{"readNote", "code"},
		{"notes", "code"},
		{"東京", "jp"},
		{"旅", "jp"},
		{"ete", "fr"},
		{"idee", "fr"},
		{"xyzzy", ""},
		{"", ""},
		{"…", ""},
	}
	for _, row := range rows {
		if got := ids(x.Search(row.query, 10, nil)); got != row.want {
			t.Errorf("%s: %s, want %s", row.query, got, row.want)
		}
	}
	if got := ids(x.Search("garden", 2, nil)); got != "title often" {
		t.Errorf("the best two are %s", got)
	}
	if got := ids(x.Search("garden", 2, func(id string) bool { return id != "title" })); got != "often body" {
		t.Errorf("without the first: %s", got)
	}
	if got := x.Search("garden", 0, nil); got != nil {
		t.Errorf("none wanted: %v", got)
	}
}

// A plain implementation of what Search promises, which keeps every word.
type plain map[string]map[string]float64

func (p plain) search(query string) map[string]float64 {
	total := 0.0
	counts := map[string]float64{} // documents by word
	for _, d := range p {
		for w, n := range d {
			total += n
			counts[w]++
		}
	}
	n := float64(len(p))
	scores := map[string]float64{}
	terms := strings.Fields(query)
	for id, d := range p {
		length := 0.0
		for _, f := range d {
			length += f
		}
		has, sum := 0.0, 0.0
		for _, w := range terms {
			if f := d[w]; f > 0 {
				has++
				sum += math.Log(1+(n-counts[w]+0.5)/(counts[w]+0.5)) * 2.2 * f / (f + 1.2*(0.25+0.75*length*n/total))
			}
		}
		if has > 0 {
			scores[id] = sum * (0.25 + 0.75*has/float64(len(terms)))
		}
	}
	return scores
}

// Whatever was put, replaced and removed, the index says the same as a plain
// one that is made anew. Words have two letters, so that none finds another.
func TestAgainstPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		n := int(math.Abs(rnd.NormFloat64()) * 60)
		return string([]byte{'a' + byte(n/26%26), 'a' + byte(n%26)})
	}
	x, p := bm25.New(3, 1), plain{}
	check := func() {
		t.Helper()
		// Words of documents that are gone count as long as nobody has
		// cleaned up: put everything twice, which leaves just what is there.
		fresh := bm25.New(1)
		for id, d := range p {
			var text []string
			for w, n := range d {
				text = append(text, strings.Repeat(w+" ", int(n)))
			}
			fresh.Put(id, strings.Join(text, " "))
		}
		for range 20 {
			query := word() + " " + word()
			if f := strings.Fields(query); f[0] == f[1] {
				continue
			}
			want := p.search(query)
			hits := fresh.Search(query, len(p), nil)
			if len(hits) != len(want) {
				t.Fatalf("%s: %d found, want %d", query, len(hits), len(want))
			}
			for _, h := range hits {
				if math.Abs(h.Score-want[h.ID]) > 1e-4 {
					t.Fatalf("%s: %s has %v, want %v", query, h.ID, h.Score, want[h.ID])
				}
			}
			got := x.Search(query, len(p), nil)
			found := map[string]bool{}
			for _, h := range got {
				found[h.ID] = true
			}
			if len(got) != len(want) || len(found) != len(want) {
				t.Fatalf("%s: %d found after changes, want %d", query, len(got), len(want))
			}
			for id := range want {
				if !found[id] {
					t.Fatalf("%s: %s is missing", query, id)
				}
			}
		}
		if x.Len() != len(p) {
			t.Fatalf("%d documents, want %d", x.Len(), len(p))
		}
	}
	for step := range 6000 {
		id := fmt.Sprint(rnd.IntN(300))
		if rnd.IntN(4) == 0 {
			_, was := p[id]
			if x.Remove(id) != was {
				t.Fatalf("removing %s: it was there: %v", id, was)
			}
			delete(p, id)
		} else {
			d := map[string]float64{}
			var title, body []string
			for range rnd.IntN(5) {
				w := word()
				title, d[w] = append(title, w), d[w]+3
			}
			for range rnd.IntN(120) {
				w := word()
				body, d[w] = append(body, w), d[w]+1
			}
			x.Put(id, strings.Join(title, " "), strings.Join(body, "\n"))
			p[id] = d
		}
		if step%1000 == 999 {
			check()
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	x := bm25.New()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				id := fmt.Sprintf("%d-%d", g, i%50)
				x.Put(id, fmt.Sprintf("common word%d", i))
				if i%3 == 0 {
					x.Remove(id)
				}
				for _, h := range x.Search("common wor", 5, nil) {
					if h.ID == "" || h.Score <= 0 {
						t.Errorf("a hit is %v", h)
					}
				}
			}
		})
	}
	wg.Wait()
	hits := x.Search("common", 1000, nil)
	if len(hits) != x.Len() || !slices.IsSortedFunc(hits, func(a, b bm25.Hit) int { return strings.Compare(fmt.Sprint(b.Score > a.Score), "false") }) {
		t.Errorf("%d found of %d", len(hits), x.Len())
	}
}

func BenchmarkPut(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	z := rand.NewZipf(rnd, 1.1, 4, 60000)
	var text strings.Builder
	for text.Len() < 6000 {
		fmt.Fprintf(&text, "word%x ", z.Uint64())
	}
	b.SetBytes(int64(text.Len()))
	x := bm25.New()
	for i := 0; b.Loop(); i++ {
		x.Put(fmt.Sprint(i%8000), text.String())
	}
}

// A word that no document has is corrected to one that is near; others are not,
// and words of documents that do not count are never offered.
func TestCorrect(t *testing.T) {
	x := bm25.New()
	x.Put("a", "garden roses watering greenhouse")
	x.Put("b", "garden gartens secret")
	for query, want := range map[string]string{
		"gardne": "map[gardne:garden]", "agrden": "map[agrden:garden]", "gardn": "map[gardn:garden]", "garrden roses": "map[garrden:garden]",
		"greanhuose": "map[greanhuose:greenhouse]", "garden": "map[]", "gard": "map[]", "rosess": "map[]", "ros": "map[]", "xyzzyq": "map[]", "seqret": "map[seqret:secret]",
	} {
		if got := fmt.Sprint(x.Correct(query, nil)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if got := x.Correct("seqret", func(id string) bool { return id == "a" }); got != nil {
		t.Errorf("a word of another was told: %v", got)
	}
}
