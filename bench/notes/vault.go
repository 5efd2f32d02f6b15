package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// words are those of a made-up language in which, as in real ones, few words
// are frequent and most are rare.
func words(n int) []string {
	r := rand.New(rand.NewPCG(7, 7))
	syllables := strings.Fields("ba be bi bo bu da de di do du ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu sta tra pre con ment tion ing er est")
	seen := map[string]bool{}
	var all []string
	for len(all) < n {
		var b strings.Builder
		for range 1 + min(4, len(all)/200+r.IntN(3)) {
			b.WriteString(syllables[r.IntN(len(syllables))])
		}
		if w := b.String(); !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}

// An author writes notes that are the same each time.
type author struct {
	r     *rand.Rand
	words []string
	zipf  *rand.Zipf
}

func newAuthor() *author {
	r := rand.New(rand.NewPCG(1, 2))
	w := words(60_000)
	return &author{r, w, rand.NewZipf(r, 1.07, 3, uint64(len(w)-1))}
}

func (a *author) word() string { return a.words[a.zipf.Uint64()] }

func (a *author) some(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = a.word()
	}
	return strings.Join(all, " ")
}

func notePath(i int) string { return fmt.Sprintf("area%d/topic%d/note %d.md", i%12, i%97, i) }

// write makes a vault of notes with frontmatter, headings, tags, links and
// code, and returns how many bytes it has.
func (a *author) write(dir string, notes, bytes int) (total int, err error) {
	for i := range notes {
		var b strings.Builder
		fmt.Fprintf(&b, "---\ntitle: %s\ntags: [%s, topic/%s]\ncreated: 2026-%02d-%02d\n---\n", a.some(3), a.word(), a.words[a.r.IntN(300)], 1+i%12, 1+i%28)
		size := bytes/notes/3 + a.r.IntN(bytes/notes*4/3)
		for b.Len() < size {
			switch a.r.IntN(12) {
			case 0:
				fmt.Fprintf(&b, "\n## %s\n\n", a.some(1+a.r.IntN(4)))
			case 1:
				fmt.Fprintf(&b, "- [ ] %s #%s\n", a.some(8), a.words[a.r.IntN(300)])
			case 2:
				fmt.Fprintf(&b, "See [[note %d|%s]] and [%s](../topic%d/note%%20%d.md).\n", a.r.IntN(notes), a.word(), a.word(), a.r.IntN(97), a.r.IntN(notes))
			case 3:
				fmt.Fprintf(&b, "```go\nfunc %s(%s string) error { return nil }\n```\n", a.word(), a.word())
			default:
				fmt.Fprintf(&b, "%s. %s.\n", a.some(20+a.r.IntN(30)), a.some(20))
			}
		}
		name := filepath.Join(dir, notePath(i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			return 0, err
		}
		total += b.Len()
	}
	return total, nil
}
