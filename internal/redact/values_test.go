package redact

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/racetest"
)

// token returns the token of a user, which begins like those of all others.
func token(user int) string {
	r := rand.New(rand.NewPCG(uint64(user), 1))
	b := make([]byte, 450)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUuY29tIi" + base64.RawURLEncoding.EncodeToString(b)
}

// The token of one user is hidden, however many others there are.
func TestTokensOfManyUsersAreHidden(t *testing.T) {
	users := racetest.Size(3000, 600)
	v := New("secret-of-the-configuration")
	for i := range users {
		v.Add(fmt.Sprint("tickets\x00user", i), token(i))
	}
	for i := range users {
		secret := token(i)
		text := "a " + secret + " b " + base64.StdEncoding.EncodeToString([]byte("me:"+secret))
		if got := v.Known(text); strings.Count(got, Mark) != 2 || leaks(got, secret) {
			t.Fatalf("the token of user %d became %.200s", i, got)
		}
		if !v.In([]byte(text)) {
			t.Fatalf("the token of user %d is not found", i)
		}
	}
	if got := v.Known("a secret-of-the-configuration"); got != "a "+Mark {
		t.Error(got)
	}
	if got := token(users); v.Known(got) != got {
		t.Error("the token of nobody is hidden")
	}
}

// An owner who renews a token again and again does not displace those of others;
// those that nobody uses any more are forgotten.
func TestLearnedValuesAreBounded(t *testing.T) {
	v := New()
	secret := func(i int) string { return fmt.Sprintf("token-%06d", i) }
	v.Add("ada", "token-of-ada")
	for most, add := range map[int]func(owner, secret string){maxOwned: v.Add, maxTokens: v.AddToken} {
		owner := fmt.Sprint("eve", most)
		for i := range 3 * most {
			add(owner, secret(most*1000+i))
		}
		first, last := secret(most*1000+2*most), secret(most*1000+3*most-1)
		if got := v.Known("token-of-ada " + secret(most*1000+2*most-1) + " " + first + " " + last); got != Mark+" "+secret(most*1000+2*most-1)+" "+Mark+" "+Mark {
			t.Error(got)
		}
	}
	for i := range maxLearned + 10 {
		v.Add(fmt.Sprint(i), secret(1000+i))
		if i == maxLearned/2 {
			v.Add("ada", "token-of-ada") // still in use
		}
	}
	if got := v.Known("token-of-ada " + secret(1000) + " " + secret(1000+maxLearned)); got != Mark+" "+secret(1000)+" "+Mark {
		t.Error(got)
	}
	if len(v.learned) != maxLearned || len(v.uses) != maxLearned || len(v.owned) != maxLearned {
		t.Errorf("%d values, %d uses, %d owners", len(v.learned), len(v.uses), len(v.owned))
	}
}

// A value is hidden until its last owner is gone.
func TestValueOfTwoOwners(t *testing.T) {
	v := New()
	v.Set("a", []string{"shared-value"})
	v.Set("b", []string{"shared-value", "shared-value"})
	v.Add("c", "shared-value")
	for _, owner := range []string{"a", "b"} {
		v.Set(owner, nil)
		if got := v.Known("shared-value"); got != Mark {
			t.Error(owner, got)
		}
	}
	for i := range maxOwned {
		v.Add("c", fmt.Sprint("other-value-", i))
	}
	if got := v.Known("shared-value"); got == Mark {
		t.Error("it is still hidden")
	}
	if v.index.n == 0 || len(v.uses) != maxOwned {
		t.Error(v.index.n, len(v.uses))
	}
}

// Values that overlap are all hidden.
func TestOverlappingValuesAreHidden(t *testing.T) {
	v := New("abcdefgh", "efghijkl", "abcdefghij", "zzzzzzzz")
	for text, want := range map[string]string{
		"<abcdefghijkl>":       "<" + Mark + ">",
		"abcdefghefghijkl":     Mark + Mark,
		"abcdefghijzzzzzzzzz.": Mark + Mark + ".",
		"bcdefgh":              "bcdefgh",
		"":                     "",
	} {
		if got := v.Known(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// The index finds what a search for each form of each value finds, while values
// come and go.
func TestIndexFindsAllForms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = `ab/+"% é`[r.IntN(9)]
		}
		return string(b)
	}
	v := New()
	var known []string
	for round := range 300 {
		known = append(known, word(6+r.IntN(12)))
		if round%3 == 0 {
			known = known[1:]
		}
		v.Set("", known)
		text := word(30)
		if r.IntN(2) == 0 {
			secret := known[r.IntN(len(known))]
			text = word(r.IntN(9)) + forms[r.IntN(len(forms))](secret) + word(r.IntN(9))
		}
		want := false
		for _, secret := range known {
			for _, form := range forms {
				s := form(secret)
				want = want || len(s) >= MinValue && strings.Contains(text, s)
			}
		}
		if got := v.In([]byte(text)); got != want || (v.Known(text) != text) != want {
			t.Fatalf("%q with %q: %v, want %v", text, known, got, want)
		}
	}
	if v.Set("", nil); v.index.n != 0 || len(v.uses) != 0 {
		t.Errorf("%d anchors and %d values are left", v.index.n, len(v.uses))
	}
}

func TestValuesAreUsedConcurrently(t *testing.T) {
	v := New("secret-of-the-configuration")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				v.Add(fmt.Sprint(g), fmt.Sprintf("token-%d-%d", g, i))
				if v.Known("x secret-of-the-configuration") != "x "+Mark {
					t.Error("it is not hidden")
				}
				v.Set(fmt.Sprint(g), []string{fmt.Sprint("value-", i)})
			}
		})
	}
	all.Wait()
}

func BenchmarkValues(b *testing.B) {
	text := strings.Repeat("A line of text with 20 words, or so, and some numbers: 12345. ", 64)
	for _, n := range []int{20, 1000, 10_000} {
		v := New()
		for i := range n {
			v.Add(fmt.Sprint(i), token(i))
		}
		b.Run(fmt.Sprint("Add/", n), func(b *testing.B) {
			b.ReportAllocs()
			secrets := make([]string, 1000)
			for i := range secrets {
				secrets[i] = token(n + i)
			}
			for i := 0; b.Loop(); i++ {
				v.Add("renewed", secrets[i%len(secrets)])
			}
		})
		b.Run(fmt.Sprint("In/", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			data := []byte(text)
			for b.Loop() {
				v.In(data)
			}
		})
		b.Run(fmt.Sprint("Known/", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				v.Known(text)
			}
		})
		secret := token(n / 2)
		b.Run(fmt.Sprint("Replace/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v.Known(secret) != Mark {
					b.Fatal("it is not hidden")
				}
			}
		})
	}
}
