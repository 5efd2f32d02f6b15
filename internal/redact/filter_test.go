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

	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

const known = "s3cr3t/välue"

func TestFilter(t *testing.T) {
	f := &Filter{
		Values: New(known), Tokens: true,
		Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-[0-9]{4}`), regexp.MustCompile(`pin=([0-9]+)`), regexp.MustCompile(`(?i)codeword \w+`)},
		Keep:     []Kept{{Member: "blob", If: "uri"}, {Member: "data", If: "type", Values: []string{"image"}}},
	}
	token := "ghp_" + strings.Repeat("aB3", 12)
	encoded := base64.StdEncoding.EncodeToString([]byte("x " + known + " y"))
	for in, want := range map[string]string{
		`{"a":"nothing here","n":12,"b":[true,null]}`:        `{"a":"nothing here","n":12,"b":[true,null]}`,
		`{"a":"it is ` + known + `, really"}`:                `{"a":"it is [redacted], really"}`,
		`{"a":"it is s3cr3t\/v\u00e4lue."}`:                  `{"a":"it is [redacted]."}`,
		`{"a":{"` + known + `":[1,"` + known + `"]}}`:        `{"a":{"[redacted]":[1,"[redacted]"]}}`,
		`{"ACME-1234":1,"ACME-5678":2,"[redacted] 2":3}`:     `{"[redacted]":1,"[redacted] 3":2,"[redacted] 2":3}`,
		`["token ` + token + `"]`:                            `["token [redacted]"]`,
		`["ACME-1234\n and pin=42."]`:                        `["[redacted]\n and pin=[redacted]."]`,
		`["the Codeword xyzzy"]`:                             `["the [redacted]"]`,
		`{"type":"text","data":"pin=42"}`:                    `{"type":"text","data":"pin=[redacted]"}`,
		`{"d\u0061ta":"pin=42","type":"image","a":"pin=42"}`: `{"d\u0061ta":"pin=42","type":"image","a":"pin=[redacted]"}`,
		`{"blob":{"a":"pin=42"},"uri":"pin=42"}`:             `{"blob":{"a":"pin=[redacted]"},"uri":"pin=[redacted]"}`,
		`{"blob":"` + encoded + `","uri":"a:b"}`:             `{"blob":"` + encoded + `","uri":"a:b"}`,
		`{"password":"reset it in the settings"}`:            `{"password":"reset it in the settings"}`,
		`{"a":"line\nbreak \"quoted\" task-1"}`:              `{"a":"line\nbreak \"quoted\" task-1"}`,
		``:                                                   ``,
		`null`:                                               `null`,
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

// TestFilterOfManyNames takes no time that grows with the square of the number of
// names: the test would not end.
func TestFilterOfManyNames(t *testing.T) {
	var doc strings.Builder
	for i := range racetest.Size(200_000, 20_000) {
		fmt.Fprintf(&doc, `,"ACME-%06d":%d`, i, i)
	}
	f := &Filter{Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-[0-9]{6}`)}}
	if got := f.JSON([]byte("{" + doc.String()[1:] + "}")); rawjson.Check(got) != nil || bytes.Contains(got, []byte("ACME")) {
		t.Errorf("%.200s", got)
	}
}

// TestFilterOfADeepDocument reads a deep document once.
func TestFilterOfADeepDocument(t *testing.T) {
	text := strings.Repeat(`"a ACME-1234",`, 1000)
	doc := strings.Repeat(`{"data":"ACME-1234","type":"image","next":[`, 250) + text + `1` + strings.Repeat(`]}`, 250)
	f := &Filter{Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-[0-9]{4}`)}, Keep: []Kept{{Member: "data", If: "type", Values: []string{"image"}}}}
	if got := string(f.JSON([]byte(doc))); strings.Count(got, Mark) != 1000 || strings.Count(got, "ACME") != 250 || rawjson.Check([]byte(got)) != nil {
		t.Errorf("%.300s", got)
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

// FuzzFilter checks that a document stays valid and loses the secret, and that
// only a document with a secret changes.
func FuzzFilter(f *testing.F) {
	for _, doc := range []string{`{"a":"x ` + known + ` y"}`, `["s3cr3t\/v\u00e4lue",{"` + known + `":1}]`, `"\ud83d\ude00 s3cr3t/välue\n"`, `{"a":"ACME-1234","b":{"type":"image","data":"ACME-1234"}}`} {
		f.Add([]byte(doc))
	}
	filter := &Filter{Values: New(known), Tokens: true, Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-[0-9]{4}`)}}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if rawjson.Check(doc) != nil {
			return
		}
		before := bytes.Clone(doc)
		got := filter.JSON(doc)
		if !bytes.Equal(doc, before) {
			t.Fatalf("%s was modified", before)
		}
		if bytes.Contains(bytes.ReplaceAll(doc, []byte(known), nil), []byte(known)) || bytes.Contains(doc, []byte(`"`+Mark)) {
			return
		}
		if err := rawjson.Check(got); err != nil {
			t.Fatalf("%s becomes %s: %v", doc, got, err)
		}
		if leaves(got) {
			t.Fatalf("%s keeps the secret: %s", doc, got)
		}
	})
}

// leaves reports whether a string of a document contains the secret.
func leaves(raw []byte) bool {
	if s, ok := rawjson.String(raw); ok {
		return strings.Contains(s, known)
	}
	for m := rawjson.Object(raw); m.Next(); {
		if bytes.Contains(m.Name, []byte(known)) || leaves(m.Value) {
			return true
		}
	}
	for e := rawjson.Array(raw); e.Next(); {
		if leaves(e.Value) {
			return true
		}
	}
	return false
}
