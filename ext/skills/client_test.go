package skills_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
)

// A fake is a server that may say anything about its skills.
type fake struct {
	entries map[string]string // by URI
	files   map[string]string
	reads   []string
	cache   mcp.Cache
}

func (f *fake) Serve(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	var q struct {
		URI string `json:"uri"`
	}
	if err := c.Decode(&q); err != nil {
		return mcp.Result{}, err
	}
	body := ""
	switch c.Method {
	case skills.MethodList:
		var all []string
		for _, e := range f.entries {
			all = append(all, e)
		}
		body = `{"skills":[` + strings.Join(all, ",") + `]}`
	case skills.MethodGet:
		if f.entries[q.URI] == "" {
			return mcp.Result{}, mcp.InvalidParams("no such skill")
		}
		body = `{"skill":` + f.entries[q.URI] + `}`
	case mcp.MethodResourcesRead:
		f.reads = append(f.reads, q.URI)
		raw, _ := mcp.Marshal(mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: q.URI, Text: f.files[q.URI]}}})
		body = string(raw)
	default:
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	return mcp.Result{Body: json.RawMessage(body), Cache: f.cache}, nil
}

func resource(uri, data string) string {
	sum := sha256.Sum256([]byte(data))
	return fmt.Sprintf(`{"uri":%q,"digest":"sha256:%s","size":%d}`, uri, hex.EncodeToString(sum[:]), len(data))
}

const (
	aURI    = "skill://x/a/SKILL.md"
	aText   = "---\nname: a\ndescription: About a\nmetadata: {version: 1.0, on: 2026-11-01}\n---\n# A\n"
	aFront  = `{"name":"a","description":"About a","metadata":{"on":"2026-11-01","version":1}}`
	refURI  = "skill://x/a/references/R.md"
	refText = "# R\n"
)

func newFake() *fake {
	return &fake{
		entries: map[string]string{aURI: `{"uri":"` + aURI + `","frontmatter":` + aFront + `,"resources":[` + resource(aURI, aText) + `,` + resource(refURI, refText) + `]}`},
		files:   map[string]string{aURI: aText, refURI: refText},
	}
}

func load(t *testing.T, f *fake) (*skills.Loaded, error) {
	t.Helper()
	f.reads = nil
	c := client.New(f, nil)
	all, err := client.All(skills.List(t.Context(), c))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if len(f.reads) > 0 {
		t.Errorf("listing read %q", f.reads)
	}
	return skills.Load(t.Context(), c, all[0])
}

func TestLoadReadsOnlyWhatIsListed(t *testing.T) {
	f := newFake()
	l, err := load(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(f.reads, " ") != aURI {
		t.Errorf("loading read %q", f.reads)
	}
	if l.Text() != aText || l.Skill().Name() != "a" {
		t.Errorf("text %q, skill %v", l.Text(), l.Skill())
	}
	for ref, want := range map[string]string{"references/R.md": refURI, "./references/R.md": refURI, refURI: refURI, "references/R.md#top": refURI, "references/a b.md": "skill://x/a/references/a%20b.md"} {
		if got, err := l.Resolve(ref); err != nil || got != want {
			t.Errorf("resolve %q: %q, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"../b/SKILL.md", "/etc/passwd", "references//R.md", "references/../../b", "", `..\b`} {
		if uri, err := l.Resolve(ref); err == nil {
			t.Errorf("%q resolves to %s", ref, uri)
		}
	}
	f.reads = nil
	if got, err := skills.Resume(client.New(f, nil), l.Skill()).Read(t.Context(), refURI); err != nil || got.Text != refText {
		t.Errorf("%v, %v", got, err)
	}
	f.files["skill://x/a/new.md"] = "new"
	for _, uri := range []string{"skill://x/a/new.md", "skill://x/a/references/../SKILL.md", "skill://x/a/references/%52.md", "skill://x/b/SKILL.md", "file:///etc/passwd"} {
		_, err := l.Read(t.Context(), uri)
		wrong(t, err, uri, skills.Unlisted)
	}
	if strings.Join(f.reads, " ") != refURI {
		t.Errorf("files that are not listed were requested: %q", f.reads)
	}
}

func wrong(t *testing.T, err error, what string, why skills.Reason) {
	t.Helper()
	if e, ok := errors.AsType[*skills.VerificationError](err); !ok || e.Reason != why {
		t.Errorf("%s: %v, want the reason %s", what, err, why)
	}
}

func TestLoadVerifies(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fake)
		why    skills.Reason
	}{
		{"tampered", func(f *fake) { f.files[aURI] = strings.Replace(aText, "# A", "# B", 1) }, skills.WrongDigest},
		{"longer", func(f *fake) { f.files[aURI] += "x" }, skills.WrongSize},
		{"other description", func(f *fake) {
			f.entries[aURI] = strings.Replace(f.entries[aURI], "About a", "About b", 1)
		}, skills.WrongFrontmatter},
		{"field in the entry only", func(f *fake) {
			f.entries[aURI] = strings.Replace(f.entries[aURI], `"name":"a"`, `"name":"a","allowed-tools":"Bash"`, 1)
		}, skills.WrongFrontmatter},
		{"field in the file only", func(f *fake) {
			f.entries[aURI] = strings.Replace(f.entries[aURI], `,"metadata":{"on":"2026-11-01","version":1}`, "", 1)
		}, skills.WrongFrontmatter},
		{"nested field", func(f *fake) { f.entries[aURI] = strings.Replace(f.entries[aURI], `"version":1`, `"version":1.1`, 1) }, skills.WrongFrontmatter},
		{"number or text", func(f *fake) { f.entries[aURI] = strings.Replace(f.entries[aURI], `"version":1`, `"version":"1"`, 1) }, skills.WrongFrontmatter},
	} {
		f := newFake()
		c.change(f)
		_, err := load(t, f)
		wrong(t, err, c.name, c.why)
	}
	f := newFake()
	l, err := load(t, f)
	if err != nil {
		t.Fatal(err)
	}
	f.files[refURI] = "# S\n"
	_, err = l.Read(t.Context(), refURI)
	wrong(t, err, "another file", skills.WrongDigest)
}

// A cached file of an older version is requested again.
func TestLoadedSkillDoesNotTrustTheCache(t *testing.T) {
	f := newFake()
	f.cache = mcp.Cache{TTL: time.Hour}
	c := client.New(f, nil)
	if _, err := c.ReadResource(t.Context(), refURI); err != nil {
		t.Fatal(err)
	}
	all, err := client.All(skills.List(t.Context(), c))
	if err != nil {
		t.Fatal(err)
	}
	f.files[refURI] = "# T\n"
	f.entries[aURI] = strings.Replace(f.entries[aURI], resource(refURI, refText), resource(refURI, "# T\n"), 1)
	now, err := skills.Get(t.Context(), c, aURI)
	if err != nil || now.Same(all[0]) {
		t.Fatalf("skills/get is cached: %v, %v", now, err)
	}
	l, err := skills.Load(t.Context(), c, now)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.Read(t.Context(), refURI); err != nil || got.Text != "# T\n" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDynamicSkills(t *testing.T) {
	f := newFake()
	f.entries[aURI] = `{"uri":"` + aURI + `","frontmatter":` + aFront + `,"resources":"dynamic"}`
	l, err := load(t, f)
	if err != nil || !l.Skill().Dynamic || l.Skill().Same(l.Skill()) {
		t.Fatalf("%v, %v", l, err)
	}
	if _, err := l.Read(t.Context(), refURI); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"skill://x/b/SKILL.md", "skill://x/a/../b", "skill://x/a/%2e%2e/b", "skill://x/ab", "https://example.com/"} {
		_, err := l.Read(t.Context(), uri)
		wrong(t, err, uri, skills.Unlisted)
	}
	f.files["skill://x/a/big"] = strings.Repeat("x", skills.MaxBytes)
	_, err = l.Read(t.Context(), "skill://x/a/big")
	wrong(t, err, "too much", skills.TooLarge)
	f.files[aURI] = strings.Replace(aText, "About a", "About b", 1)
	_, err = load(t, f)
	wrong(t, err, "frontmatter", skills.WrongFrontmatter)
}

// Entries of a hostile server are not skills, and do not hide the others.
func TestListSkipsInvalidEntries(t *testing.T) {
	good := newFake().entries[aURI]
	own := resource(aURI, aText)
	many := ""
	for i := range skills.MaxFiles {
		many += "," + resource(fmt.Sprintf("skill://x/a/%d", i), "")
	}
	entry := func(uri, front, resources string) string {
		return fmt.Sprintf(`{"uri":%q,"frontmatter":%s,"resources":%s}`, uri, front, resources)
	}
	files := "[" + own + "]"
	for _, c := range []struct{ name, entry, want string }{
		{"no resources", `{"uri":"` + aURI + `","frontmatter":` + aFront + `}`, "resources: expected an array"},
		{"null", entry(aURI, aFront, "null"), "resources: expected an array"},
		{"another word", entry(aURI, aFront, `"static"`), "resources: expected an array"},
		{"no file", entry(aURI, aFront, "[]"), "SKILL.md itself is missing"},
		{"no frontmatter", entry(aURI, "null", files), "frontmatter: expected an object"},
		{"no description", entry(aURI, `{"name":"a"}`, files), "description: missing"},
		{"another name", entry(aURI, `{"name":"b","description":"x"}`, files), "must have the name of the skill"},
		{"not SKILL.md", entry("skill://x/a/README.md", aFront, files), "must end with /SKILL.md"},
		{"dots", entry("skill://x/../a/SKILL.md", aFront, files), "names another folder"},
		{"encoded dots", entry("skill://x/%2E%2E/a/SKILL.md", aFront, files), "names another folder"},
		{"encoded slash", entry("skill://x%2Fy/a/SKILL.md", aFront, files), "slash"},
		{"backslash", entry(`skill://x\\y/a/SKILL.md`, aFront, files), "backslash"},
		{"query", entry("skill://x/a/SKILL.md?/SKILL.md", aFront, files), "query"},
		{"no scheme", entry("x/a/SKILL.md", aFront, files), "scheme"},
		{"outside", entry(aURI, aFront, "["+own+","+resource("skill://x/b/SKILL.md", "")+"]"), "outside the folder"},
		{"beside", entry(aURI, aFront, "["+own+","+resource("skill://x/ab", "")+"]"), "outside the folder"},
		{"outside by dots", entry(aURI, aFront, "["+own+","+resource("skill://x/a/../b", "")+"]"), "names another folder"},
		{"twice", entry(aURI, aFront, "["+own+","+own+"]"), "listed twice"},
		{"too many", entry(aURI, aFront, "["+own+many+"]"), "more than 512 files"},
		{"too large", entry(aURI, aFront, "["+own+`,{"uri":"skill://x/a/b","digest":"sha256:`+strings.Repeat("0", 64)+`","size":16777216}]`), "more than 16 MiB"},
		{"overflow", entry(aURI, aFront, "["+own+`,{"uri":"skill://x/a/b","digest":"sha256:`+strings.Repeat("0", 64)+`","size":9223372036854775807}]`), "more than 16 MiB"},
		{"negative", entry(aURI, aFront, "["+strings.Replace(own, `"size":`, `"size":-`, 1)+"]"), "negative"},
		{"no size", entry(aURI, aFront, `[{"uri":"`+aURI+`","digest":"sha256:`+strings.Repeat("0", 64)+`"}]`), "size: missing"},
		{"upper case digest", entry(aURI, aFront, "["+strings.Replace(own, "sha256:", "sha256:A", 1)+"]"), "lower-case hexadecimal"},
		{"no digest", entry(aURI, aFront, `[{"uri":"`+aURI+`","size":1}]`), "digest"},
	} {
		var warnings []string
		f := &fake{entries: map[string]string{"bad": c.entry}}
		cl := client.New(f, &client.Options{Warn: func(w string) { warnings = append(warnings, w) }})
		all, err := client.All(skills.List(t.Context(), cl))
		if err != nil || len(all) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], c.want) {
			t.Errorf("%s: %d skills, %v, %q, want a warning with %q", c.name, len(all), err, warnings, c.want)
		}
		f.entries["good"] = strings.ReplaceAll(good, "skill://x/", "skill://good/")
		if all, err := client.All(skills.List(t.Context(), cl)); err != nil || len(all) != 1 {
			t.Errorf("%s: %d skills, %v", c.name, len(all), err)
		}
		f.entries = map[string]string{aURI: c.entry}
		if _, err := skills.Get(t.Context(), cl, aURI); err == nil {
			t.Errorf("%s: skills/get succeeds", c.name)
		}
	}
}

func TestGetRefusesAnotherSkill(t *testing.T) {
	f := newFake()
	f.entries["skill://x/b/SKILL.md"] = f.entries[aURI]
	if _, err := skills.Get(t.Context(), client.New(f, nil), "skill://x/b/SKILL.md"); err == nil || !strings.Contains(err.Error(), "instead of") {
		t.Error(err)
	}
}

func TestSame(t *testing.T) {
	read := func(e string) *skills.Skill {
		s := new(skills.Skill)
		if err := mcp.Unmarshal([]byte(e), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	f := newFake()
	a := read(f.entries[aURI])
	if !a.Same(read(f.entries[aURI])) {
		t.Error("an entry is not the same as itself")
	}
	for name, other := range map[string]string{
		"removed": strings.Replace(f.entries[aURI], ","+resource(refURI, refText), "", 1),
		"changed": strings.Replace(f.entries[aURI], resource(refURI, refText), resource(refURI, "# S\n"), 1),
		"renamed": strings.Replace(f.entries[aURI], refURI, "skill://x/a/references/S.md", 1),
	} {
		if b := read(other); a.Same(b) || b.Same(a) {
			t.Errorf("%s: the same", name)
		}
	}
}
