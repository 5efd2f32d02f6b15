package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

const known = "s3cr3t/välue"

func TestFilter(t *testing.T) {
	f := &Filter{
		Values: New(known), Tokens: true,
		Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-[0-9]{4}`), regexp.MustCompile(`pin=([0-9]+)`), regexp.MustCompile(`(?i)codeword \w+`)},
		Keep:     func(_ []byte, member string) bool { return member == "blob" },
	}
	token := "ghp_" + strings.Repeat("aB3", 12)
	encoded := base64.StdEncoding.EncodeToString([]byte("x " + known + " y"))
	for in, want := range map[string]string{
		`{"a":"nothing here","n":12,"b":[true,null]}`: `{"a":"nothing here","n":12,"b":[true,null]}`,
		`{"a":"it is ` + known + `, really"}`:         `{"a":"it is [redacted], really"}`,
		`{"a":"it is s3cr3t\/v\u00e4lue."}`:           `{"a":"it is [redacted]."}`,
		`{"a":{"` + known + `":[1,"` + known + `"]}}`: `{"a":{"[redacted]":[1,"[redacted]"]}}`,
		`["token ` + token + `"]`:                     `["token [redacted]"]`,
		`["ACME-1234\n and pin=42."]`:                 `["[redacted]\n and pin=[redacted]."]`,
		`["the Codeword xyzzy"]`:                      `["the [redacted]"]`,
		`{"blob":"` + encoded + `"}`:                  `{"blob":"` + encoded + `"}`,
		`{"password":"reset it in the settings"}`:     `{"password":"reset it in the settings"}`,
		`{"a":"line\nbreak \"quoted\" task-1"}`:       `{"a":"line\nbreak \"quoted\" task-1"}`,
		``:                                            ``,
		`null`:                                        `null`,
	} {
		got := f.JSON([]byte(in))
		if string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if len(got) > 0 && !json.Valid(got) {
			t.Errorf("%s: not JSON any more: %s", in, got)
		}
	}
	if got := f.JSON([]byte(`{"data":"` + encoded + `"}`)); strings.Contains(string(got), encoded) {
		t.Errorf("Base64 of a known secret stays in a text: %s", got)
	}
	if got := f.Text("no " + known + " here"); got != "no [redacted] here" {
		t.Error(got)
	}
	var none Filter
	if got := none.Text("text"); got != "text" {
		t.Error(got)
	}
}

// TestFilterDoesNotCopy costs no allocation if there is no secret.
func TestFilterDoesNotCopy(t *testing.T) {
	doc := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(`A line of text.\n`, 100) + `"}],"structuredContent":{"n":1}}`)
	f := &Filter{Values: New(known, "another secret", "a third"), Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-[0-9]{4}`)}}
	if n := testing.AllocsPerRun(100, func() {
		if got := f.JSON(doc); !rawjson.Same(got, doc) {
			t.Fatal("copied")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSearchFindsWhatIsThere compares the search with a simple one.
func TestSearchFindsWhatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 2000 {
		var texts []string
		for range 1 + r.IntN(4) {
			texts = append(texts, text(2+r.IntN(8)))
		}
		data := []byte(text(r.IntN(60)))
		want := false
		for _, s := range texts {
			want = want || bytes.Contains(data, []byte(s))
		}
		if got := newSearch(texts).in(data); got != want {
			t.Fatalf("%q in %q: %v", texts, data, got)
		}
	}
}

func BenchmarkFilterWithoutMatch(b *testing.B) {
	for _, size := range []int{200, 20_000} {
		doc := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(`A line of text.\n`, size/16) + `"}]}`)
		var secrets []string
		for i := range 20 {
			secrets = append(secrets, fmt.Sprintf("secret-%d-%x", i, rand.Uint64()))
		}
		f := &Filter{Values: New(secrets...)}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				f.JSON(doc)
			}
		})
	}
}
