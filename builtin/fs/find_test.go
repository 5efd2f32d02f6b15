package fs

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestGlobs(t *testing.T) {
	for _, r := range []struct{ pattern, fits, not string }{
		{"*.go", "a.go .go", "a/b.go a.goo"},
		{"**/*.go", "a.go a/b.go a/b/c.go .x/a.go", "a.txt"},
		{"**", "a a/b .a", ""},
		{"a/**", "a/b a/b/c", "a b/a"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "a/xb ab"},
		{"?.txt", "a.txt é.txt", ".txt ab.txt"},
		{"[a-c]x", "ax cx", "dx -x"},
		{"[!a-c]x", "dx", "ax"},
		{"[^a]", "b", "a /"},
		{"[]]", "]", "a"},
		{"[", "[", "a"},
		{"[[:digit:]]x", "1x", "ax"},
		{"{a,b}.go", "a.go b.go", "c.go"},
		{"{a,b/c}/*", "a/x b/c/x", "b/x"},
		{"{a,{b,c}}", "a b c", "d"},
		{"{1..3}", "1 2 3", "4"},
		{"{3..1}", "1 2 3", "4"},
		{"{a}", "{a}", "a"},
		{"a{b", "a{b", "ab"},
		{`\*`, "*", "a"},
		{"+(a|b)", "a ab ba", "c"},
		{"@(a|b)c", "ac bc", "abc"},
		{"a?(b)", "a ab", "abb"},
		{"!*.go", "a.txt a/b.go", "a.go"},
		{"#a", "", "#a a"},
		{"a.b", "a.b", "axb"},
		{"a(b)$", "a(b)$", "ab"},
	} {
		g, err := newGlob(r.pattern)
		if err != nil {
			t.Errorf("%s: %v", r.pattern, err)
			continue
		}
		for _, name := range strings.Fields(r.fits) {
			if !g.match(name) {
				t.Errorf("%s does not fit %s", r.pattern, name)
			}
		}
		for _, name := range strings.Fields(r.not) {
			if g.match(name) {
				t.Errorf("%s fits %s", r.pattern, name)
			}
		}
	}
	for _, bad := range []string{"!(a)", strings.Repeat("{a,b}", 20), strings.Repeat("x", 5000)} {
		if _, err := newGlob(bad); err == nil {
			t.Errorf("%.20s was taken", bad)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a/{b,c}/[x-z]**", "a/b/x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if g, err := newGlob(pattern); err == nil {
			g.match(name)
		}
		if r, ok := newRule(pattern); ok {
			r.match(name, name, true)
		}
	})
}

func TestGitignore(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{
		".gitignore": "# a comment\n*.o\n!keep.o\n/top.txt\nbuild/\ndocs/*.html\n**/cache\n\\#odd\ntrailing \nlogs/**/x\n",
		"a.o":        "", "keep.o": "", "top.txt": "", "sub/top.txt": "", "build/x": "", "sub/build/x": "", "file/build": "", "docs/a.html": "", "docs/deep/a.html": "",
		"x/cache/y": "", "#odd": "", "trailing": "", "logs/x": "", "logs/a/b/x": "", "logs/y": "",
		"sub/.gitignore": "!*.o\nlocal\n", "sub/b.o": "", "sub/local": "", "local": "", ".git/config": "", ".git/info/exclude": "excluded\n", "excluded": "",
	})
	got := b.says("search_files", `{"path":".","pattern":"**","gitignore":true}`)
	var names []string
	for name := range strings.FieldsSeq(got) {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, b.dir), "/"))
	}
	want := ".gitignore docs docs/deep docs/deep/a.html file file/build keep.o local logs logs/a logs/a/b logs/y sub sub/.gitignore sub/b.o sub/top.txt x"
	expect(t, "what git does not ignore", strings.Join(names, " "), want)
}

func TestDirectoryTree(t *testing.T) {
	tree := map[string]string{".gitignore": "ignored\n", "ignored/x": "", "a/b/c/d.txt": "", "a/b.txt": "", ".git/HEAD": "", "z.txt": ""}
	for i := range 300 {
		tree[fmt.Sprintf("many/%03d.txt", i)] = ""
	}
	b := newBench(t, Config{MaxResult: 4000}, tree)
	shown := func(args string) string {
		r := b.call("directory_tree", args)
		if r.IsError {
			return r.Content.Text()
		}
		return strings.Join(strings.Fields(r.Content[0].(*mcp.TextContent).Text), "")
	}
	expect(t, "a part", shown(`{"path":"a"}`), `[{"name":"b","type":"directory","children":[{"name":"c","type":"directory","children":[{"name":"d.txt","type":"file"}]}]},{"name":"b.txt","type":"file"}]`)
	expect(t, "one level", shown(`{"path":".","maxDepth":1}`),
		`[{"name":".gitignore","type":"file"},{"name":"a","type":"directory","more":true,"children":[]},{"name":"many","type":"directory","more":true,"children":[]},{"name":"z.txt","type":"file"}]`)
	expect(t, "without many", shown(`{"path":".","maxDepth":1,"gitignore":false,"excludePatterns":["many","a"]}`),
		`[{"name":".git","type":"directory","more":true,"children":[]},{"name":".gitignore","type":"file"},{"name":"ignored","type":"directory","more":true,"children":[]},{"name":"z.txt","type":"file"}]`)
	r := b.call("directory_tree", `{"path":"."}`)
	text := r.Content[0].(*mcp.TextContent).Text
	if len(text) > 4000 || len(text) < 2000 {
		t.Errorf("a tree of 300 files has %d bytes", len(text))
	}
	for _, want := range []string{`"a"`, `"b.txt"`, `"z.txt"`, `"000.txt"`, `"more": true`} {
		expect(t, "a tree that is cut", text, "…"+want)
	}
	expect(t, "says so", r.Content[1].(*mcp.TextContent).Text, "…The tree is cut")
	expect(t, "structured", string(r.StructuredContent), `…"complete":false`)
}

func TestListsInPages(t *testing.T) {
	tree := map[string]string{}
	for i := range 100 {
		tree[fmt.Sprintf("file-%03d", i)] = strings.Repeat("x", i)
	}
	b := newBench(t, Config{MaxResult: 400}, tree)
	for tool, more := range map[string]string{"list_directory": "", "list_directory_with_sizes": `,"sortBy":"size"`, "search_files": `,"pattern":"*"`} {
		seen := map[string]bool{}
		offset := 0
		for range 100 {
			r := b.call(tool, fmt.Sprintf(`{"path":"."%s,"offset":%d}`, more, offset))
			if r.IsError {
				t.Fatal(r.Content.Text())
			}
			for word := range strings.FieldsSeq(r.Content.Text()) {
				if name := strings.TrimPrefix(word, b.dir+"/"); tree[name] != "" || name == "file-000" {
					if seen[name] {
						t.Errorf("%s shows %s twice", tool, name)
					}
					seen[name] = true
				}
			}
			var next struct {
				NextOffset int `json:"nextOffset"`
			}
			if err := mcp.Unmarshal(r.StructuredContent, &next); err != nil {
				t.Fatal(err)
			}
			if offset = next.NextOffset; offset == 0 {
				break
			}
		}
		if len(seen) != 100 {
			t.Errorf("%s shows %d of 100 files", tool, len(seen))
		}
	}
}

func TestGrepFiles(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{
		"a.go": "package a\n\nfunc Alpha() {}\nfunc beta() {}\n", "sub/b.txt": "alpha\r\nbeta\r\ngamma (x)\r\n", "bin": "alpha\x00", "ignored.txt": "alpha",
		".gitignore": "ignored.txt\n", "context.txt": "1\n2\nhit\n4\n5\n6\n7\nhit\nhit\n10\n", "long.txt": strings.Repeat("ä", 1000) + "needle" + strings.Repeat("ö", 1000),
		"empty": "", "last": "no end of line: omega",
	})
	b.run([]row{
		{"grep_files", `{"path":".","pattern":"alpha"}`, "ROOT/sub/b.txt\n1: alpha"},
		{"grep_files", `{"path":".","pattern":"alpha","ignoreCase":true}`, "ROOT/a.go\n3: func Alpha() {}\n\nROOT/sub/b.txt\n1: alpha"},
		{"grep_files", `{"path":".","pattern":"alpha","gitignore":false}`, "ROOT/ignored.txt\n1: alpha\n\nROOT/sub/b.txt\n1: alpha"},
		{"grep_files", `{"path":".","pattern":"^func \\w+\\(","include":["*.go"]}`, "ROOT/a.go\n3: func Alpha() {}\n4: func beta() {}"},
		{"grep_files", `{"path":".","pattern":"beta","excludePatterns":["sub"]}`, "ROOT/a.go\n4: func beta() {}"},
		{"grep_files", `{"path":".","pattern":"(x)","literal":true}`, "ROOT/sub/b.txt\n3: gamma (x)"},
		{"grep_files", `{"path":"sub/b.txt","pattern":"beta$"}`, "ROOT/sub/b.txt\n2: beta"},
		{"grep_files", `{"path":"sub/b.txt","pattern":"beta"}`, "ROOT/sub/b.txt\n2: beta"},
		{"grep_files", `{"path":".","pattern":"omega"}`, "ROOT/last\n1: no end of line: omega"},
		{"grep_files", `{"path":"context.txt","pattern":"hit","context":1}`, "ROOT/context.txt\n2- 2\n3: hit\n4- 4\n--\n7- 7\n8: hit\n9: hit\n10- 10"},
		{"grep_files", `{"path":"context.txt","pattern":"hit","maxMatches":2}`, "ROOT/context.txt\n3: hit\n8: hit\n[There are more. Continue with offset=2, or use a narrower pattern.]"},
		{"grep_files", `{"path":"context.txt","pattern":"hit","offset":2}`, "ROOT/context.txt\n9: hit"},
		{"grep_files", `{"path":"context.txt","pattern":"hit","offset":3}`, "No more matches; there are 3 in all"},
		{"grep_files", `{"path":".","pattern":"hit|beta","filesOnly":true}`, "ROOT/a.go (1)\nROOT/context.txt (3)\nROOT/sub/b.txt (1)"},
		{"grep_files", `{"path":".","pattern":"("}`, "…for plain text set literal"},
		{"grep_files", `{"path":"nope","pattern":"x"}`, "…does not exist"},
		{"grep_files", `{"path":"bin","pattern":"alpha"}`, "No matches found in 0 files"},
		{"grep_files", `{"path":"context.txt","pattern":"^"}`, "…10: 10"},
	})
	got := b.says("grep_files", `{"path":"long.txt","pattern":"needle"}`)
	if !strings.Contains(got, "…ä") || !strings.Contains(got, "needleö") || len(got) > 700 {
		t.Errorf("a long line is shown as %q", got)
	}
}

// A file larger than what is searched at once has the right line numbers.
func TestGrepLargeFile(t *testing.T) {
	lines := 3 * chunk / 8
	b := newBench(t, Config{}, map[string]string{"large": strings.Repeat("1234567\n", lines) + "needle\n"})
	expect(t, "large", b.says("grep_files", `{"path":"large","pattern":"needle"}`), fmt.Sprintf("%s\n%d: needle", b.path("large"), lines+1))
}

func TestProgress(t *testing.T) {
	tree := map[string]string{}
	for i := range 2500 {
		tree[fmt.Sprintf("%d/%d", i%10, i)] = "x"
	}
	b := newBench(t, Config{MaxResult: 1 << 20}, tree)
	for tool, more := range map[string]string{"grep_files": `,"pattern":"y"`, "search_files": `,"pattern":"**/y"`, "directory_tree": ``} {
		var notes []string
		b.call(tool, `{"path":"."`+more+`}`, func(c *mcp.Call) {
			c.Progress = true
			c.OnNotification = func(n mcp.Notification) { notes = append(notes, n.Method) }
		})
		if len(notes) != 2 || notes[0] != mcp.NotificationProgress {
			t.Errorf("%s told %v", tool, notes)
		}
	}
}

// Names that are not UTF-8 can exist; what is said of them is.
func TestNamesThatAreNotUTF8(t *testing.T) {
	b := newBench(t, Config{}, nil)
	if err := os.WriteFile(b.path("caf\xe9\n.txt"), []byte("needle"), 0o644); err != nil {
		needtest.Missing(t, "names that are not UTF-8: "+err.Error())
	}
	for tool, more := range readers {
		if strings.HasPrefix(tool, "read") {
			continue
		}
		r := b.call(tool, `{"path":"."`+more+`}`)
		text := r.Content.Text()
		if r.IsError || !utf8.ValidString(text) || tool != "get_file_info" && !strings.Contains(text, "caf") {
			t.Errorf("%s: %q", tool, text)
		}
		if strings.Contains(text, "\xe9") || strings.Contains(text, "caf\ufffd\n") {
			t.Errorf("%s breaks its lines: %q", tool, text)
		}
	}
	if _, err := b.server.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesList}); err != nil {
		t.Error(err)
	}
}
