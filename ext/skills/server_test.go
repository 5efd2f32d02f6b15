package skills_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func skillFile(name string, more ...string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: About " + name + "\n" + strings.Join(more, "") + "---\n\n# " + name + "\n")}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// example has a skill with folders and odd names, one below another folder, and
// one in that.
var example = fstest.MapFS{
	"README.md":                         text("not a skill"),
	"pdf/SKILL.md":                      skillFile("pdf", "license: MIT\n"),
	"pdf/references/FORMS.md":           text("# Forms"),
	"pdf/references/deep/a b#?.txt":     text("odd"),
	"pdf/empty.txt":                     text(""),
	"pdf/logo.png":                      {Data: []byte{0x89, 'P', 'N', 'G', 0, 0xff}},
	"pdf/.hidden":                       text("not served"),
	"pdf/.git/config":                   text("not served"),
	"acme/refunds/SKILL.md":             skillFile("refunds"),
	"acme/refunds/more/nested/SKILL.md": skillFile("nested"),
}

func newServer(t *testing.T, files fs.FS, o *skills.Options, so *server.Options) *server.Server {
	t.Helper()
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, so)
	if err := skills.Add(s, files, o); err != nil {
		t.Fatal(err)
	}
	return s
}

func uris(t *testing.T, c *client.Client) (all []string) {
	t.Helper()
	for s, err := range skills.List(t.Context(), c) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s.URI)
	}
	return all
}

func TestServerListsSkillsWithDigests(t *testing.T) {
	c := client.New(newServer(t, example, nil, nil), nil)
	want := []string{"skill://acme/refunds/SKILL.md", "skill://acme/refunds/more/nested/SKILL.md", "skill://pdf/SKILL.md"}
	if got := uris(t, c); !slices.Equal(got, want) {
		t.Errorf("skills/list has %q, want %q", got, want)
	}
	d, err := c.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if settings, ok := skills.Declared(d); !ok || !settings.DirectoryRead || d.Capabilities.Resources == nil {
		t.Errorf("capabilities: %+v %v, resources %v", settings, ok, d.Capabilities.Resources)
	}
	pdf, err := skills.Get(t.Context(), c, "skill://pdf/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := mcp.Marshal(pdf)
	if err != nil {
		t.Fatal(err)
	}
	entry := `{"uri":"skill://pdf/SKILL.md","frontmatter":{"description":"About pdf","license":"MIT","name":"pdf"},"resources":[` +
		resource("skill://pdf/SKILL.md", string(example["pdf/SKILL.md"].Data)) + `,`
	if !strings.HasPrefix(string(raw), entry) {
		t.Errorf("entry: %s, want %s", raw, entry)
	}
	var files []string
	for _, r := range pdf.Resources {
		files = append(files, strings.TrimPrefix(r.URI, "skill://pdf/"))
	}
	if want := []string{"SKILL.md", "empty.txt", "logo.png", "references/FORMS.md", "references/deep/a%20b%23%3F.txt"}; !slices.Equal(files, want) {
		t.Errorf("files: %q, want %q", files, want)
	}
	refunds, err := skills.Get(t.Context(), c, "skill://acme/refunds/SKILL.md")
	if err != nil || refunds.Find("skill://acme/refunds/more/nested/SKILL.md") == nil {
		t.Errorf("the files of a nested skill belong to the outer one, too: %v, %v", refunds, err)
	}
}

// Every file that a skill lists can be read and matches its entry, and only
// SKILL.md files are in resources/list.
func TestServerServesFiles(t *testing.T) {
	c := client.New(newServer(t, example, nil, nil), nil)
	for s, err := range skills.List(t.Context(), c) {
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := skills.Load(t.Context(), c, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Resources {
			if _, err := loaded.Read(t.Context(), r.URI); err != nil {
				t.Error(err)
			}
		}
	}
	var listed []string
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, fmt.Sprint(r.URI, " ", r.Name, " ", r.Description, " ", r.MIMEType))
	}
	if want := []string{
		"skill://acme/refunds/SKILL.md refunds About refunds text/markdown",
		"skill://acme/refunds/more/nested/SKILL.md nested About nested text/markdown",
		"skill://pdf/SKILL.md pdf About pdf text/markdown",
	}; !slices.Equal(listed, want) {
		t.Errorf("resources/list: %q", listed)
	}
	for _, uri := range []string{"skill://pdf/.hidden", "skill://pdf/references", "skill://pdf/../acme/refunds/SKILL.md", "skill://pdf/references/deep/a b#?.txt", "skill://PDF/SKILL.md"} {
		if _, err := c.ReadResource(t.Context(), uri); codeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("read %s: %v", uri, err)
		}
	}
}

func codeOf(err error) int {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Code
	}
	return 0
}

func TestServerServesUnlistedSkills(t *testing.T) {
	s := newServer(t, example, &skills.Options{Unlisted: func(path string) bool { return path == "pdf" }}, nil)
	c := client.New(s, nil)
	if got := uris(t, c); slices.Contains(got, "skill://pdf/SKILL.md") || len(got) != 2 {
		t.Errorf("skills/list has %q", got)
	}
	for r, err := range c.Resources(t.Context()) {
		if err != nil || r.URI == "skill://pdf/SKILL.md" {
			t.Errorf("resources/list has %v, %v", r, err)
		}
	}
	one, err := skills.Get(t.Context(), c, "skill://pdf/SKILL.md")
	if err == nil {
		_, err = skills.Load(t.Context(), c, one)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestServerRefusesUnknownURIs(t *testing.T) {
	s := newServer(t, example, nil, nil)
	for _, c := range []struct{ method, params string }{
		{skills.MethodGet, `{"uri":"skill://none/SKILL.md"}`},
		{skills.MethodGet, `{"uri":"skill://pdf/references/FORMS.md"}`},
		{skills.MethodGet, `{"uri":"skill://pdf"}`},
		{skills.MethodGet, `{"uri":7}`},
		{skills.MethodGet, `{}`},
		{skills.MethodList, `{"cursor":"skill://none/SKILL.md"}`},
		{skills.MethodList, `{"cursor":1}`},
		{skills.MethodReadDirectory, `{"uri":"skill://pdf/SKILL.md"}`},
		{skills.MethodReadDirectory, `{"uri":"skill://pdf/"}`},
		{skills.MethodReadDirectory, `{"uri":"skill://none"}`},
		{skills.MethodReadDirectory, `{"uri":"skill://pdf/references/.."}`},
		{skills.MethodReadDirectory, `{"uri":"skill://pdf","cursor":"x"}`},
		{skills.MethodReadDirectory, `{}`},
	} {
		_, err := s.Serve(t.Context(), &mcp.Call{Method: c.method, Params: json.RawMessage(c.params)})
		if codeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("%s %s: %v", c.method, c.params, err)
		}
	}
}

func TestServerReadsDirectories(t *testing.T) {
	for _, size := range []int{1, 2, 100} {
		c := client.New(newServer(t, example, &skills.Options{PageSize: size}, nil), nil)
		for dir, want := range map[string]string{
			"skill://pdf":                 "SKILL.md=text/markdown empty.txt=text/plain logo.png=image/png references=inode/directory",
			"skill://pdf/references":      "FORMS.md=text/markdown deep=inode/directory",
			"skill://pdf/references/deep": "a b#?.txt=text/plain",
			"skill://acme":                "refunds=inode/directory",
			"skill://acme/refunds":        "SKILL.md=text/markdown more=inode/directory",
			"skill://acme/refunds/more":   "nested=inode/directory",
		} {
			var got []string
			for r, err := range skills.ReadDirectory(t.Context(), c, dir) {
				if err != nil {
					t.Fatal(err)
				}
				name := r.Name
				if strings.HasSuffix(r.URI, "/SKILL.md") {
					name = "SKILL.md"
				}
				got = append(got, name+"="+r.MIMEType)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("page size %d: %s has %q, want %q", size, dir, got, want)
			}
		}
		if got := uris(t, c); len(got) != 3 {
			t.Errorf("page size %d: skills/list has %q", size, got)
		}
	}
}

// A caller sees a skill only if it may read all of the files, and shared caches
// do not get it.
func TestServerAsksAllow(t *testing.T) {
	secret := "skill://pdf/references/FORMS.md"
	s := newServer(t, example, &skills.Options{Cache: mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic}}, &server.Options{Allow: func(c *mcp.Caller, f server.Feature) bool {
		return f.Name != secret || c.Principal != nil
	}})
	c := client.New(s, nil)
	if got := uris(t, c); slices.Contains(got, "skill://pdf/SKILL.md") || len(got) != 2 {
		t.Errorf("skills/list has %q", got)
	}
	if _, err := skills.Get(t.Context(), c, "skill://pdf/SKILL.md"); codeOf(err) != mcp.CodeInvalidParams {
		t.Errorf("skills/get: %v", err)
	}
	for r, err := range skills.ReadDirectory(t.Context(), c, "skill://pdf/references") {
		if err != nil || r.URI == secret {
			t.Errorf("resources/directory/read: %v, %v", r, err)
		}
	}
	res, err := s.Serve(t.Context(), &mcp.Call{Method: skills.MethodList})
	if err != nil || res.Cache.Scope != mcp.ScopePrivate || res.Cache.TTL != time.Minute {
		t.Errorf("cache hint: %+v, %v", res.Cache, err)
	}
	somebody := c.As(&mcp.Principal{Issuer: "x", ID: "y"})
	if got := uris(t, somebody); len(got) != 3 {
		t.Errorf("with a principal, skills/list has %q", got)
	}
}

func TestAddRefusesBadFolders(t *testing.T) {
	large := &fstest.MapFile{Data: make([]byte, skills.MaxBytes/2)}
	many := fstest.MapFS{"a/SKILL.md": skillFile("a")}
	for i := range skills.MaxFiles {
		many[fmt.Sprintf("a/%d.txt", i)] = text("x")
	}
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"nothing", fstest.MapFS{"a/readme.md": text("x")}, "there is no folder with a file SKILL.md"},
		{"at the root", fstest.MapFS{"SKILL.md": skillFile("a")}, "SKILL.md: move it into a folder that has the name of the skill"},
		{"case of the file", fstest.MapFS{"a/skill.md": skillFile("a")}, "a/skill.md: rename it to SKILL.md"},
		{"folder name", fstest.MapFS{"A_b/SKILL.md": skillFile("A_b")}, `A_b: rename the folder: the name "A_b" must have 1 to 64 lower-case letters`},
		{"double hyphen", fstest.MapFS{"a--b/SKILL.md": skillFile("a--b")}, "a--b: rename the folder"},
		{"prefix", fstest.MapFS{"my skills/a/SKILL.md": skillFile("a")}, `my skills/a: rename the folder "my skills"`},
		{"other name", fstest.MapFS{"a/SKILL.md": skillFile("b")}, `a: SKILL.md: frontmatter: set name to the name of the folder, "a"`},
		{"no description", fstest.MapFS{"a/SKILL.md": text("---\nname: a\n---\n")}, "a: SKILL.md: frontmatter: set description"},
		{"long description", fstest.MapFS{"a/SKILL.md": text("---\nname: a\ndescription: " + strings.Repeat("x", 1025) + "\n---\n")}, "shorten the description to 1024 characters"},
		{"number in the metadata", fstest.MapFS{"a/SKILL.md": skillFile("a", "metadata: {version: 1.0}\n")}, `metadata: "version" must be a text: quote it`},
		{"list as metadata", fstest.MapFS{"a/SKILL.md": skillFile("a", "metadata: [a]\n")}, "metadata must be a mapping of names to texts"},
		{"compatibility", fstest.MapFS{"a/SKILL.md": skillFile("a", "compatibility: "+strings.Repeat("x", 501)+"\n")}, "compatibility must be a text of at most 500 characters"},
		{"no frontmatter", fstest.MapFS{"a/SKILL.md": text("# a")}, "a: SKILL.md: frontmatter: the first line must be ---"},
		{"open frontmatter", fstest.MapFS{"a/SKILL.md": text("---\nname: a\n")}, "a: SKILL.md: frontmatter: the line --- at its end is missing"},
		{"bad YAML", fstest.MapFS{"a/SKILL.md": text("---\nname: [a\n---\n")}, "a: SKILL.md: frontmatter: invalid YAML"},
		{"a list", fstest.MapFS{"a/SKILL.md": text("---\n- a\n---\n")}, "expected one mapping"},
		{"not UTF-8", fstest.MapFS{"a/SKILL.md": text("---\nname: a\n---\n\xff")}, "a: SKILL.md: save it as UTF-8 text"},
		{"too many files", many, "a: the skill has 513 files; 512 are allowed"},
		{"too large", fstest.MapFS{"a/SKILL.md": skillFile("a"), "a/x": large, "a/y": large}, "a: the files of the skill have more than 16 MiB"},
		{"file name", fstest.MapFS{"a/SKILL.md": skillFile("a"), "a/x\ny": text("x")}, `a: rename the file "a/x\ny"`},
		{"backslash", fstest.MapFS{"a/SKILL.md": skillFile("a"), `a/x\y`: text("x")}, `rename the file`},
		{"special file", fstest.MapFS{"a/SKILL.md": skillFile("a"), "a/pipe": {Mode: fs.ModeNamedPipe}}, "a/pipe is not a regular file"},
		{"two", fstest.MapFS{"a/SKILL.md": skillFile("b"), "c/SKILL.md": skillFile("d")}, `c: SKILL.md: frontmatter: set name`},
	} {
		s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
		err := skills.Add(s, c.files, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if d, _ := client.New(s, nil).Discover(t.Context()); d == nil || len(d.Capabilities.Extensions) > 0 {
			t.Errorf("%s: the extension is declared all the same", c.name)
		}
	}
}

// Links are neither followed nor served: they may lead out of the folder.
func TestAddRefusesLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	outside := filepath.Join(t.TempDir(), "secret")
	dir := t.TempDir()
	for path, data := range map[string]string{outside: "secret", filepath.Join(dir, "a", "SKILL.md"): string(skillFile("a").Data)} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	add := func() error {
		return skills.Add(server.New(mcp.Implementation{Name: "test", Version: "1"}, nil), os.DirFS(dir), nil)
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{outside, filepath.Dir(outside), "/"} {
		link := filepath.Join(dir, "a", "link")
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if err := add(); err == nil || !strings.Contains(err.Error(), "a/link is not a regular file (a symbolic link?)") {
			t.Errorf("link to %s: %v", to, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAddTwiceIsAnError(t *testing.T) {
	s := newServer(t, example, nil, nil)
	if err := skills.Add(s, example, nil); err == nil || !strings.Contains(err.Error(), "was added before") {
		t.Error(err)
	}
}
