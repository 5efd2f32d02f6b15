package notes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	text := `---
title: "The \"Garden\"" # mine
tags: [Plants, 'rose garden', topic/Soil]
aliases:
  - The Yard
  - 'Bob''s place'
---
# Heading one #
See [[Tools]], [[Work/Plan#Costs|the plan]], ![[photo.png]] and [[#Here]] [in](#there).
A [link](../Other%20Place/Note.md#x) and [web](https://example.com/a.md), <[[Q]]>.
Inline #todo #2026 #a1 not#this (#paren) #über/große é#no
` + "`#code [[NotThis]]` and ``[[nor]] this``" + `
` + "```\n# not a heading\n#nottag [[nolink]]\n```" + `
## Second
| [[T\|alias]] |
#Heading-like-tag
`
	f := parse("A/B/x.md", text)
	expect(t, "title", f.title, `The "Garden"`)
	expect(t, "tags", strings.Join(f.tags, " "), "a1 heading-like-tag paren plants rose garden todo topic/soil über/große")
	expect(t, "aliases", strings.Join(f.aliases, "|"), "The Yard|Bob's place")
	expect(t, "links", strings.Join(f.links, " "), "/a/other place/note photo.png q t tools work/plan")
	expect(t, "headings", strings.Join(f.headings, "|"), "Heading one|Second")
}

func TestTitle(t *testing.T) {
	rows := [][2]string{
		{"", ""},
		{"text", ""},
		{"# First\n# Second", "First"},
		{"## Not one\n# One", "One"},
		{"---\ntitle: T\n---\n# H", "T"},
		{"---\r\ntitle: T\r\n---\r\n# H\r\n", "T"},
		{"\ufeff---\ntitle: T\n---\n", "T"},
		{"---\ntitle: [a]\n---\n# H", "H"},
		{"---\ntitle: null\n---\n# H", "H"},
		{"---\ntitle: T\n# never ends", "never ends"},
		{"--- \ntitle: T\n...\nx", "T"},
		{"#NoSpace", ""},
		{"#", ""},
		{"####### seven", ""},
		{"# \xff", "\ufffd"},
	}
	for _, row := range rows {
		if got := parse("a.md", row[0]).title; got != row[1] {
			t.Errorf("%q: %q, want %q", row[0], got, row[1])
		}
	}
}

func TestTagsOfFrontmatter(t *testing.T) {
	rows := [][2]string{
		{"tags: a, b c", "a b c"},
		{"tags: '#a'", "a"},
		{"tags: [a, \"b, c\"]", "a b, c"},
		{"tags: [a,\n  b]", "a b"},
		{"tags:\n- a\n- b # why", "a b"},
		{"tags:\n  # one\n  - a\n\n  - b", "a b"},
		{"Tags: A", "a"},
		{"tag: a\ntags: b", "a b"},
		{"tags:", ""},
		{"tags: []", ""},
		{"\"tags\": [a]", "a"},
	}
	for _, row := range rows {
		if got := strings.Join(parse("x.md", "---\n"+row[0]+"\n---\n").tags, " "); got != row[1] {
			t.Errorf("%q: %q, want %q", row[0], got, row[1])
		}
	}
}

const sample = "---\n# about\ntitle: Old # keep me\nTags:\n  - a\n  # inside\n  - b\n\n# before date\ndate: 2026-01-01\n\"quoted key\": 1\nnested:\n  x: {y: 1}\n---\nBody\n"

func TestPatchFront(t *testing.T) {
	rows := []struct{ text, patch, want string }{
		{"Body\n", `{"a":1}`, "---\na: 1\n---\nBody\n"},
		{"", `{"a":true}`, "---\na: true\n---\n"},
		{"\ufeffBody", `{"a":"b"}`, "\ufeff---\na: b\n---\nBody"},
		{"Body\r\nmore\r\n", `{"a":["x","z"]}`, "---\r\na:\r\n  - x\r\n  - z\r\n---\r\nBody\r\nmore\r\n"},
		{"Body\n", `{"a":null}`, "Body\n"},
		{sample, `{"title":"New"}`, strings.Replace(sample, "title: Old # keep me", "title: New # keep me", 1)},
		{sample, `{"tags":["c"]}`, strings.Replace(sample, "Tags:\n  - a\n  # inside\n  - b\n", "Tags:\n  - c\n", 1)},
		{sample, `{"tags":null}`, strings.Replace(sample, "Tags:\n  - a\n  # inside\n  - b\n", "", 1)},
		{sample, `{"nested":5}`, strings.Replace(sample, "nested:\n  x: {y: 1}\n", "nested: 5\n", 1)},
		{sample, `{"quoted key":2}`, strings.Replace(sample, "\"quoted key\": 1", "\"quoted key\": 2", 1)},
		{sample, `{"new":{"a":[1,
			2]}}`, strings.Replace(sample, "---\nBody", "new: {\"a\":[1,2]}\n---\nBody", 1)},
		{sample, `{"nothing":null}`, sample},
		{"---\n---\n", `{"a":1}`, "---\na: 1\n---\n"},
		{"---\r\na: 1 # c\r\n---\r\n", `{"a":2}`, "---\r\na: 2 # c\r\n---\r\n"},
	}
	for _, row := range rows {
		got, err := patchFront(row.text, changes(t, row.patch))
		if err != nil || got != row.want {
			t.Errorf("%s: %v\n got %q\nwant %q", row.patch, err, got, row.want)
		}
	}
}

func changes(t *testing.T, patch string) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(patch), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// What is written is read back as it was meant, and needs no more quotes than
// people would write.
func TestYAMLTexts(t *testing.T) {
	rows := [][2]string{
		{"plain words", "plain words"},
		{"2026-11-15", "2026-11-15"},
		{"yes", `"yes"`},
		{"12", `"12"`},
		{"", `""`},
		{"a: b", `"a: b"`},
		{"a #b", `"a #b"`},
		{"[[Link]]", `"[[Link]]"`},
		{"*x", `"*x"`},
		{"- x", `"- x"`},
		{"two\nlines", `"two\nlines"`},
		{`say "hi" \o/`, `"say \"hi\" \\o/"`},
		{"größe", "größe"},
		{" x", `" x"`},
	}
	for _, row := range rows {
		raw, _ := json.Marshal(row[0])
		text, err := patchFront("", map[string]json.RawMessage{"title": raw})
		if err != nil || text != "---\ntitle: "+row[1]+"\n---\n" {
			t.Errorf("%q: %q, %v", row[0], text, err)
		}
		f, _ := splitFront(text)
		if got := f.scalar("title"); got != row[0] || f.err != nil {
			t.Errorf("%q was read back as %q, %v", row[0], got, f.err)
		}
	}
}

func TestPatchFrontRefuses(t *testing.T) {
	rows := []struct{ text, patch, want string }{
		{"---\na: &x [1]\nb: *x\n---\n", `{"c":1}`, "an anchor, an alias or a tag"},
		{"---\na: [x, *y]\n---\n", `{"c":1}`, "an anchor, an alias or a tag"},
		{"---\na: !!python/object:os.system x\n---\n", `{"c":1}`, "line 2 of its frontmatter has an anchor"},
		{"---\na:\n  - !x y\n---\n", `{"c":1}`, "line 3"},
		{"---\nno colon\n---\n", `{"c":1}`, "is not \"key: value\""},
		{"---\n  a: 1\n---\n", `{"c":1}`, "indented without a key"},
		{"---\na: 1\n", `{"c":1}`, "the closing --- is missing"},
		{"---\na: " + strings.Repeat("x", 70<<10) + "\n---\n", `{"c":1}`, "longer than 64 KiB"},
		{"---\na: 1\nA: 2\n---\n", `{"a":1}`, "twice"},
		{"---\na: \xff\n---\n", `{"a":1}`, "not UTF-8"},
		{"x", `{"a: b":1}`, "is not a valid frontmatter key"},
		{"x", `{"":1}`, "is not a valid frontmatter key"},
		{"x", `{"a\nb":1}`, "is not a valid frontmatter key"},
	}
	for _, row := range rows {
		got, err := patchFront(row.text, changes(t, row.patch))
		if err == nil {
			t.Errorf("%.40q with %s became %.40q", row.text, row.patch, got)
			continue
		}
		contains(t, row.patch, err.Error(), row.want)
	}
}

const sections = "---\nt: 1\n---\nintro\n\n# One\n\none\n\n## Tasks\n- a\n- b\n\n# Two\ntwo\n## Tasks\n```\n## Fake\n```\nend"

func TestFindSection(t *testing.T) {
	rows := [][2]string{
		{"One", "# One\n\none\n\n## Tasks\n- a\n- b\n\n"},
		{"# one", "# One\n\none\n\n## Tasks\n- a\n- b\n\n"},
		{"One#Tasks", "## Tasks\n- a\n- b\n\n"},
		{"two#TASKS", "## Tasks\n```\n## Fake\n```\nend"},
		{"Tasks", "error: there are 2 sections \"Tasks\" (line 10, line 16); add the parent heading, as in \"Above#Tasks\""},
		{"Fake", "error: no section \"Fake\"; the note has # One, ## Tasks, # Two, ## Tasks"},
		{"### One", "error: no section"},
		{"wrong#Tasks", "error: no section"},
		{"One#One", "error: no section"},
	}
	for _, row := range rows {
		h, err := findSection(sections, row[0])
		got := sections[h.at:h.end]
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, row[1]) || err == nil && got != row[1] {
			t.Errorf("%s: %q, want %q", row[0], got, row[1])
		}
	}
}

func TestReplaceSection(t *testing.T) {
	rows := []struct{ text, section, body, want string }{
		{"# A\nold\n# B\nb\n", "A", "new", "# A\nnew\n\n# B\nb\n"}, // an empty line comes before the next heading
		{"# A\n\nold\n\n# B\n", "A", "new\n", "# A\n\nnew\n\n# B\n"},
		{"# A\n\nold\n\n# B\n", "A", "# A\n\nnew", "# A\n\nnew\n\n# B\n"}, // the heading is not written twice
		{"# A", "A", "new", "# A\nnew\n"},
		{"# A\n# B\n", "A", "new", "# A\nnew\n\n# B\n"},
		{"# A\nold\n## Sub\nx\n# B\n", "A", "new", "# A\nnew\n\n# B\n"},
		{"# A\nold\n\n# B\n", "A", "", "# A\n\n# B\n"},
		{"# A\r\nold\r\n# B\r\n", "A", "n1\nn2", "# A\r\nn1\r\nn2\r\n\r\n# B\r\n"},
		{"# A\nold", "A", "new", "# A\nnew\n"},
	}
	for _, row := range rows {
		got, err := replaceSection(row.text, row.section, row.body)
		if err != nil {
			t.Error(err)
		}
		expect(t, fmt.Sprintf("%q with %q", row.text, row.body), got, row.want)
	}
}

func TestInsert(t *testing.T) {
	rows := []struct{ text, section, added, appended, prepended string }{
		{"", "", "x", "x\n", "x\n"},
		{"a", "", "x", "a\nx\n", "x\na"},
		{"a\n\n\n", "", "x\n", "a\nx\n\n\n", "x\na\n\n\n"},
		{"---\nt: 1\n---\na\n", "", "x", "---\nt: 1\n---\na\nx\n", "---\nt: 1\n---\nx\na\n"},
		{"---\nt: 1\n---", "", "x", "---\nt: 1\n---\nx\n", "---\nt: 1\n---\nx\n"},
		{"# A\na\n\n# B\nb\n", "A", "x", "# A\na\nx\n\n# B\nb\n", "# A\nx\na\n\n# B\nb\n"},
		{"# A\n# B\n", "A", "x", "# A\nx\n# B\n", "# A\nx\n# B\n"},
		{"a\r\n", "", "x\ny", "a\r\nx\r\ny\r\n", "x\r\ny\r\na\r\n"},
		{"\ufeffa\n", "", "x", "\ufeffa\nx\n", "\ufeffx\na\n"},
		{"bytes \xff stay\n", "", "x", "bytes \xff stay\nx\n", "x\nbytes \xff stay\n"},
	}
	for _, row := range rows {
		for _, end := range []bool{true, false} {
			got, err := insert(row.text, row.section, row.added, end)
			if err != nil {
				t.Error(err)
			}
			want := row.prepended
			if end {
				want = row.appended
			}
			expect(t, fmt.Sprintf("%q, at the end: %v", row.text, end), got, want)
		}
	}
}

func TestReplaceText(t *testing.T) {
	rows := []struct{ text, old, now, want string }{
		{"a b c", "b", "x", "a x c"},
		{"a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"},
		{"a b a", "a", "x", "error: old_text occurs 2 times or more (line 1, line 1)"},
		{"aaa", "aa", "x", "error: old_text occurs 2 times"},
		{"a", "b", "x", "error: old_text is not in the note"},
		{"a", "", "x", "error: old_text is empty"},
	}
	for _, row := range rows {
		got, err := replaceText(row.text, row.old, row.now)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != row.want && !(err != nil && strings.HasPrefix(got, row.want)) {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{sample, sections, "---\na: [*a\n---", "[[", "](", "#", "```\n~~~", "---\n'a: b\n---\n", "---\n-\n---"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parse("a/b.md", text)
		for _, h := range headingsOf(text) {
			if h.at > h.body || h.body > h.end || h.end > len(text) {
				t.Fatalf("a section at %d, %d, %d of %d", h.at, h.body, h.end, len(text))
			}
		}
		front, body := splitFront(text)
		if body > len(text) || front.found && front.err == nil && text[front.start:front.start+len(front.inner)] != front.inner {
			t.Fatalf("%+v, %d", front, body)
		}
		// A change of one key leaves all other lines as they are.
		now, err := patchFront(text, map[string]json.RawMessage{"zzz": json.RawMessage(`"v"`)})
		if err != nil {
			return
		}
		back, err := patchFront(now, map[string]json.RawMessage{"zzz": json.RawMessage(`null`)})
		if err != nil {
			t.Fatalf("%q became %q, which cannot be changed back: %v", text, now, err)
		}
		if front.found && front.entry("zzz") == nil && back != text {
			t.Fatalf("%q became %q and then %q", text, now, back)
		}
	})
}
