package peers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	builtin "github.com/tenon-mcp/tenon/builtin/fs"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// fsDifferences are the ways in which the builtin server for files differs from
// the reference server on purpose. docs/servers/fs.md says each of them in the
// same words.
var fsDifferences = map[string]string{
	"once":      "The text of a result is sent once, as content. The structured content has what a program needs beside it (path, size, how to go on), not the text again.",
	"ask":       "Overwriting a file asks the person, or needs `\"confirm\": true` from a client that cannot ask.",
	"sensitive": "Names that other programs run or trust (`.git`, `.mcp.json`, `.bashrc` …) cannot be written unless the configuration allows it.",
	"parents":   "`write_file` makes the directories above a new file.",
	"ambiguous": "An `oldText` that is there several times is an error that names the lines; the reference server changes the first.",
	"empty":     "An empty `oldText` is an error; the reference server inserts at the start.",
	"crlf":      "An edit keeps CR LF line endings; the reference server turns those of the whole file into LF. What is read with `tail` keeps them too.",
	"tail":      "`tail` counts lines; the reference server counts the end of the last line as one more.",
	"numbers":   "`head` and `tail` are whole numbers from 1 on; the reference server reads the whole file for 0.",
	"binary":    "A file that is not UTF-8 text is refused as text, with advice; the reference server returns it with replacement characters.",
	"links":     "A link is listed as what it leads to, and as `[LINK]` if it leads nowhere or out; the reference server lists every link as a file, and tells the size of files outside.",
	"gitignore": "`directory_tree` leaves out what git ignores, and `.git`, unless `gitignore` is false.",
	"dates":     "`get_file_info` writes times in ISO 8601.",
	"errors":    "Errors of the system are told in sentences, not as error codes.",
	"hint":      "A search without matches for a pattern without a slash says how to search below.",
	"mime":      "`read_media_file` knows more types than images and a few kinds of sound.",
	"unknown":   "Arguments that a tool does not have are an error; the reference server ignores them.",
	"backslash": "New names may not have a backslash or control characters in them.",
}

// fsTree is what both servers see.
var fsTree = map[string]string{
	"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", "no-newline.txt": "x\ny\nz", "empty.txt": "", "crlf.txt": "one\r\ntwo\r\nthree\r\n",
	"code.go": "package x\n\nfunc f() {\n\tif true {\n\t\treturn\n\t}\n}\n", "twice.txt": "same\nother\nsame\n", "ticks.md": "```go\ncode\n```\n",
	"unicode.txt": "h\u00e9llo w\u00f6rld \U0001F600\nzweite\n", "bom.txt": "\ufeffwith a mark\nsecond\n", "long.txt": strings.Repeat("a line that is repeated\n", 3000),
	"sub/b.txt": "in sub\n", "sub/deep/er/c.md": "# deep\n", "sub/B.TXT": "upper\n", "empty/": "", "caf\u00e9.txt": "composed\n", "with space.txt": "space\n",
	"Zed.txt": "z", "zed2.txt": "z", "_under.txt": "u", ".hidden": "dot", "10.txt": "n", "9.txt": "n", "big.bin": strings.Repeat("\x01\x02", 3000),
	"logo.png": "\x89PNG\r\n\x1a\nxxxx", "tune.mp3": "ID3xxxx", "data.unknown": "\x00\x01\x02", "latin1.txt": "caf\xe9\n",
	"move-me.txt": "moving", "move-dir/inside.txt": "moving", "link-in": "->sub", "link-file": "->a.txt", "link-out": "->/etc/hostname", "link-dangling": "->nowhere",
}

// fsCall is a call that is made to both. ROOT stands for the directory that
// each may use.
type fsCall struct {
	tool, args string
	differs    string // the difference that is intended, by its name
	ours       string // what is then expected, or a part of it
}

var fsCalls = []fsCall{
	{"list_allowed_directories", `{}`, "", ""},
	{"read_text_file", `{"path":"ROOT/a.txt"}`, "", ""},
	{"read_file", `{"path":"ROOT/a.txt"}`, "", ""},
	{"read_text_file", `{"path":"a.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/./sub/../a.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/a.txt","head":3}`, "", ""},
	{"read_text_file", `{"path":"ROOT/a.txt","head":300}`, "", ""},
	{"read_text_file", `{"path":"ROOT/no-newline.txt","tail":2}`, "", ""},
	{"read_text_file", `{"path":"ROOT/no-newline.txt","tail":20}`, "", ""},
	{"read_text_file", `{"path":"ROOT/a.txt","tail":2}`, "tail", "nine\nten"},
	{"read_text_file", `{"path":"ROOT/crlf.txt","tail":2}`, "crlf", "two\r\nthree\r"},
	{"read_text_file", `{"path":"ROOT/crlf.txt","head":2}`, "", ""},
	{"read_text_file", `{"path":"ROOT/crlf.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/long.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/long.txt","head":2000}`, "", ""},
	{"read_text_file", `{"path":"ROOT/empty.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/empty.txt","tail":3}`, "", ""},
	{"read_text_file", `{"path":"ROOT/unicode.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/bom.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/cafe\u0301.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/link-file"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/link-in/b.txt"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/a.txt","head":1,"tail":1}`, "", ""},
	{"read_text_file", `{"path":"ROOT/a.txt","head":0}`, "numbers", "head: "},
	{"read_text_file", `{"path":"ROOT/latin1.txt"}`, "binary", "cannot be read as text"},
	{"read_text_file", `{"path":"ROOT/data.unknown"}`, "binary", "cannot be read as text"},
	{"read_text_file", `{"path":"ROOT/a.txt","lines":3}`, "unknown", "lines"},
	{"read_text_file", `{"path":"/etc/hostname"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/../x"}`, "", ""},
	{"read_text_file", `{"path":"C:\\x"}`, "", ""},
	{"read_text_file", `{"path":"ROOT/link-out"}`, "errors", "Access denied - a symlink in the path leads outside"},
	{"read_text_file", `{"path":"ROOT/link-dangling"}`, "errors", "the symlink target does not exist"},
	{"read_text_file", `{"path":"ROOT/missing"}`, "errors", "ROOT/missing does not exist"},
	{"read_text_file", `{"path":"ROOT/sub"}`, "errors", "is a directory"},
	{"read_media_file", `{"path":"ROOT/logo.png"}`, "", ""},
	{"read_media_file", `{"path":"ROOT/tune.mp3"}`, "", ""},
	{"read_media_file", `{"path":"ROOT/data.unknown"}`, "", ""},
	{"read_media_file", `{"path":"ROOT/a.txt"}`, "mime", "text/plain"},
	{"read_multiple_files", `{"paths":["ROOT/a.txt","ROOT/sub/b.txt","no-newline.txt"]}`, "", ""},
	{"read_multiple_files", `{"paths":["ROOT/a.txt","/etc/hostname"]}`, "", ""},
	{"read_multiple_files", `{"paths":["ROOT/a.txt","ROOT/missing"]}`, "errors", "ROOT/missing: Error - ROOT/missing does not exist"},
	{"list_directory", `{"path":"ROOT/sub"}`, "", ""},
	{"list_directory", `{"path":"ROOT/empty"}`, "", ""},
	{"list_directory", `{"path":"ROOT/sub/deep"}`, "", ""},
	{"list_directory", `{"path":"ROOT"}`, "links", "[FILE] link-file\n[DIR] link-in\n[LINK] link-out"},
	{"list_directory", `{"path":"ROOT/missing"}`, "errors", "does not exist"},
	{"list_directory", `{"path":"ROOT/a.txt"}`, "errors", "is a file, not a directory"},
	{"list_directory_with_sizes", `{"path":"ROOT/sub"}`, "", ""},
	{"list_directory_with_sizes", `{"path":"ROOT/empty"}`, "", ""},
	{"list_directory_with_sizes", `{"path":"ROOT"}`, "links", "[DIR] link-in"},
	{"directory_tree", `{"path":"ROOT/sub"}`, "", ""},
	{"directory_tree", `{"path":"ROOT/empty"}`, "", ""},
	{"directory_tree", `{"path":"ROOT","excludePatterns":["link-*"]}`, "", ""},
	{"directory_tree", `{"path":"ROOT","excludePatterns":["link-*","sub"]}`, "", ""},
	{"directory_tree", `{"path":"ROOT","excludePatterns":["link-*","deep"]}`, "", ""},
	{"directory_tree", `{"path":"ROOT","excludePatterns":["link-*","**/*.txt"]}`, "", ""},
	{"directory_tree", `{"path":"ROOT"}`, "links", `"link": true`},
	{"search_files", `{"path":"ROOT","pattern":"**/*.md"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"*.txt"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"**/*.txt","excludePatterns":["sub/**"]}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"**"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"*"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"**/?.*"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"{a,sub/b}.txt"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"[0-9]*.txt"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"[!a-z]*"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"!**/*.txt"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"+(a|9).txt"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"{1..10}.txt"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"sub/**"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"sub/**/c.md"}`, "", ""},
	{"search_files", `{"path":"ROOT/sub","pattern":"**/c.md"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"**/nothing"}`, "", ""},
	{"search_files", `{"path":"ROOT","pattern":"nothing"}`, "hint", "No matches found\n[Only names directly in"},
	{"get_file_info", `{"path":"ROOT/a.txt"}`, "dates", "size: 49\ncreated: 20"},
	{"get_file_info", `{"path":"ROOT/sub"}`, "dates", "isDirectory: true\nisFile: false\npermissions: 755"},

	{"edit_file", `{"path":"ROOT/a.txt","edits":[{"oldText":"five","newText":"5"}],"dryRun":true}`, "", ""},
	{"edit_file", `{"path":"ROOT/a.txt","edits":[{"oldText":"five","newText":"5"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/a.txt","edits":[{"oldText":"one\ntwo","newText":"1\n2\n2.5"},{"oldText":"ten\n","newText":""}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/a.txt","edits":[{"oldText":"not there","newText":"x"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/a.txt","edits":[]}`, "", ""},
	{"edit_file", `{"path":"ROOT/no-newline.txt","edits":[{"oldText":"z","newText":"zz"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/no-newline.txt","edits":[{"oldText":"zz","newText":"zz\n"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/code.go","edits":[{"oldText":"if true {\nreturn\n}","newText":"if false {\n    panic(1)\n}"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/ticks.md","edits":[{"oldText":"code","newText":"other"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/bom.txt","edits":[{"oldText":"second","newText":"2nd"}]}`, "", ""},
	{"edit_file", `{"path":"ROOT/long.txt","edits":[{"oldText":"a line that is repeated\n","newText":""}],"dryRun":true}`, "ambiguous", "occurs 3000 times, in lines 1, 2, 3"},
	{"edit_file", `{"path":"ROOT/twice.txt","edits":[{"oldText":"same","newText":"x"}],"dryRun":true}`, "ambiguous", "oldText occurs 2 times, in lines 1, 3"},
	{"edit_file", `{"path":"ROOT/twice.txt","edits":[{"oldText":"","newText":"x"}],"dryRun":true}`, "empty", "oldText is empty"},
	{"edit_file", `{"path":"ROOT/crlf.txt","edits":[{"oldText":"one\ntwo","newText":"1\n2"}],"dryRun":true}`, "", ""},
	{"edit_file", `{"path":"ROOT/missing","edits":[{"oldText":"a","newText":"b"}]}`, "errors", "does not exist"},
	{"write_file", `{"path":"ROOT/new.txt","content":"new\n"}`, "", ""},
	{"write_file", `{"path":"ROOT/sub/new2.txt","content":""}`, "", ""},
	{"write_file", `{"path":"ROOT/link-in/new3.txt","content":"through a link"}`, "", ""},
	{"write_file", `{"path":"/tmp/../etc/x","content":""}`, "", ""},
	{"write_file", `{"path":"ROOT/a\\b","content":""}`, "backslash", "contains a backslash"},
	{"write_file", `{"path":"ROOT/.mcp.json","content":"{}"}`, "sensitive", "the server needs the setting AllowSensitive"},
	{"write_file", `{"path":"ROOT/x/y/z.txt","content":"deep"}`, "parents", "Successfully wrote to ROOT/x/y/z.txt"},
	{"write_file", `{"path":"ROOT/new.txt","content":"again\n"}`, "ask", `call again with "confirm": true`},
	{"create_directory", `{"path":"ROOT/d/e/f"}`, "", ""},
	{"create_directory", `{"path":"ROOT/d/e/f"}`, "", ""},
	{"create_directory", `{"path":"/etc/x"}`, "", ""},
	{"create_directory", `{"path":"ROOT/a.txt"}`, "errors", "is a file, not a directory"},
	{"move_file", `{"source":"ROOT/move-me.txt","destination":"ROOT/sub/moved.txt"}`, "", ""},
	{"move_file", `{"source":"ROOT/move-dir","destination":"ROOT/moved-dir"}`, "", ""},
	{"move_file", `{"source":"ROOT/sub/b.txt","destination":"ROOT/a.txt"}`, "", ""},
	{"move_file", `{"source":"ROOT/sub/b.txt","destination":"ROOT/empty"}`, "", ""},
	{"move_file", `{"source":"ROOT/sub/b.txt","destination":"/etc/x"}`, "", ""},
	{"move_file", `{"source":"ROOT/missing","destination":"ROOT/x2"}`, "errors", "does not exist"},
	{"list_directory", `{"path":"ROOT/sub"}`, "", ""},
	{"create_directory", `{"path":"ROOT/git/build"}`, "", ""},
	{"write_file", `{"path":"ROOT/git/.gitignore","content":"build/\n"}`, "", ""},
	{"write_file", `{"path":"ROOT/git/build/x.o","content":"x"}`, "", ""},
	{"directory_tree", `{"path":"ROOT/git"}`, "gitignore", "[\n  {\n    \"name\": \".gitignore\",\n    \"type\": \"file\"\n  }\n]"},
}

// The same calls on two copies of a tree have the same answers and leave the
// same files, but for what is meant to differ.
func TestFSDifferential(t *testing.T) {
	parallel(t)
	theirs := fsPlant(t)
	ours := fsPlant(t)
	them := meet(t, "server-filesystem", []string{theirs}, nil, client.Options{})
	server, err := builtin.New(builtin.Config{Roots: []string{ours}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	us := client.New(server, nil)
	defer us.Close()
	fsSchemas(t, them.Client, us)

	met := map[string]bool{"once": true} // fsCallOn looks at every call
	for _, c := range fsCalls {
		name := c.tool + " " + c.args
		theirText := fsCallOn(t, them.Client, theirs, c, true)
		ourText := fsCallOn(t, us, ours, c, false)
		switch {
		case c.differs == "" && ourText != theirText:
			t.Errorf("%s:\nours:   %q\ntheirs: %q", name, ourText, theirText)
		case c.differs != "" && fsDifferences[c.differs] == "":
			t.Errorf("%s: no difference is called %q", name, c.differs)
		case c.differs != "" && ourText == theirText:
			t.Errorf("%s: the answers are the same, though they are meant to differ (%s): %q", name, c.differs, ourText)
		case c.differs != "" && !strings.Contains(ourText, c.ours):
			t.Errorf("%s:\nours: %q\nwant: …%s…", name, ourText, c.ours)
		}
		if c.differs != "" {
			met[c.differs] = true
		}
		if c.differs != "" && (c.tool == "write_file" || c.tool == "edit_file") {
			fsLevel(t, theirs, ours) // what was meant to differ shall not come again
		} else if diff := fsCompare(t, theirs, ours); diff != "" {
			t.Errorf("%s left other files: %s", name, diff)
		}
	}
	for name := range fsDifferences {
		if !met[name] {
			t.Errorf("no call shows the difference %q", name)
		}
	}
}

// Edits of many kinds leave the same files and the same diffs.
func TestFSRandomEdits(t *testing.T) {
	parallel(t)
	theirs, ours := fsPlant(t), fsPlant(t)
	them := meet(t, "server-filesystem", []string{theirs}, nil, client.Options{})
	server, err := builtin.New(builtin.Config{Roots: []string{ours}, Ask: builtin.AskNever})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	us := client.New(server, nil)
	defer us.Close()
	random := rand.New(rand.NewPCG(3, 4))
	lines := func(n int) []string {
		var all []string
		for range n {
			all = append(all, strings.Repeat(" ", 2*random.IntN(3))+strings.Repeat(string(rune('a'+random.IntN(4))), random.IntN(3)))
		}
		return all
	}
	made := 0
	for range 300 {
		text := lines(5 + random.IntN(30))
		from := random.IntN(len(text))
		to := min(len(text), from+1+random.IntN(5))
		whole := strings.Join(text, "\n") + strings.Repeat("\n", random.IntN(2))
		old := strings.Join(text[from:to], "\n")
		if strings.TrimSpace(old) == "" {
			continue
		}
		if random.IntN(3) == 0 { // as a model writes it from memory
			old = strings.ReplaceAll(old, "  ", "")
		}
		args, err := json.Marshal(map[string]any{"path": "ROOT/random.txt", "edits": []any{map[string]string{"oldText": old, "newText": strings.Join(lines(random.IntN(6)), "\n")}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{theirs, ours} {
			if err := os.WriteFile(filepath.Join(dir, "random.txt"), []byte(whole), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		call := fsCall{tool: "edit_file", args: string(args)}
		our := fsCallOn(t, us, ours, call, false)
		if strings.Contains(our, " times, in lines ") {
			continue // the difference "ambiguous"
		}
		made++
		if their := fsCallOn(t, them.Client, theirs, call, true); our != their {
			t.Errorf("%q, %s:\nours:   %q\ntheirs: %q", whole, args, our, their)
		}
		if diff := fsCompare(t, theirs, ours); diff != "" {
			t.Errorf("%q, %s: %s", whole, args, diff)
		}
	}
	if made < 50 {
		t.Errorf("only %d edits were compared", made)
	}
}

// What docs/servers/fs.md says of the differences is what is tested.
func TestFSDifferencesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "servers", "fs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, says := range fsDifferences {
		if !strings.Contains(string(doc), says) {
			t.Errorf("docs/servers/fs.md does not have the difference %q: %s", name, says)
		}
	}
}

// fsPlant makes a copy of the tree.
func fsPlant(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range fsTree {
		full := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if target, ok := strings.CutPrefix(text, "->"); err == nil && ok {
			err = os.Symlink(target, full)
		} else if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(full, 0o755)
		} else if err == nil {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fsCallOn makes a call and returns all that is said, without the name of the
// directory. twice says whether longer texts come a second time.
func fsCallOn(t *testing.T, c *client.Client, dir string, call fsCall, twice bool) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), call.tool, json.RawMessage(strings.ReplaceAll(call.args, "ROOT", dir)), nil)
	if err != nil {
		t.Fatalf("%s %s: %v", call.tool, call.args, err)
	}
	text := r.Content.Text()
	for _, block := range r.Content {
		if _, ok := block.(*mcp.TextContent); !ok {
			raw, err := mcp.Marshal(block)
			if err != nil {
				t.Fatal(err)
			}
			text += string(raw)
		}
	}
	if quoted, err := json.Marshal(r.Content.Text()); err == nil && len(quoted) > 60 && strings.Contains(string(r.StructuredContent), string(quoted)) != twice && !r.IsError {
		t.Errorf("%s %s: that the structured content has the text again is %t: %.200s", call.tool, call.args, !twice, r.StructuredContent)
	}
	if r.IsError {
		text = "ERROR " + text
	}
	return strings.ReplaceAll(text, dir, "ROOT")
}

// fsSnapshot is what is in a directory, by path.
func fsSnapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what += " " + string(data)
		}
		all[strings.TrimPrefix(name, dir)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func fsCompare(t *testing.T, theirs, ours string) string {
	a, b := fsSnapshot(t, theirs), fsSnapshot(t, ours)
	names := maps.Clone(a)
	maps.Copy(names, b)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			out = append(out, fmt.Sprintf("%s: ours %q, theirs %q", name, b[name], a[name]))
		}
	}
	return strings.Join(out, "\n")
}

// fsLevel makes both trees the same again, as ours is.
func fsLevel(t *testing.T, theirs, ours string) {
	t.Helper()
	if err := os.RemoveAll(theirs); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(ours, func(name string, d fs.DirEntry, err error) error {
		to := theirs + strings.TrimPrefix(name, ours)
		switch {
		case err != nil || name == ours:
			return err
		case d.IsDir():
			return os.Mkdir(to, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fsSchemas checks that every tool of theirs is one of ours, takes the same
// arguments, wants no other, and says the same of itself.
func fsSchemas(t *testing.T, them, us *client.Client) {
	t.Helper()
	type input struct {
		Properties map[string]struct {
			Type  string
			Items struct{ Type string }
		}
		Required []string
	}
	tools := func(c *client.Client) map[string]*mcp.Tool {
		list, err := client.All(c.Tools(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]*mcp.Tool{}
		for _, tool := range list {
			all[tool.Name] = tool
		}
		return all
	}
	read := func(tool *mcp.Tool) (in input) {
		if err := json.Unmarshal(tool.InputSchema, &in); err != nil {
			t.Fatal(err)
		}
		slices.Sort(in.Required)
		return in
	}
	ours := tools(us)
	theirs := tools(them)
	if len(theirs) != 14 {
		t.Errorf("the reference server has %d tools, want 14", len(theirs))
	}
	for name, their := range theirs {
		our := ours[name]
		if our == nil {
			t.Errorf("the tool %s is missing", name)
			continue
		}
		a, b := read(their), read(our)
		for arg, p := range a.Properties {
			q, ok := b.Properties[arg]
			if p.Type == "number" {
				p.Type = "integer" // see the difference "numbers"
			}
			if !ok || p.Type != q.Type || p.Items.Type != q.Items.Type {
				t.Errorf("%s.%s is %+v, theirs %+v", name, arg, q, p)
			}
		}
		if required := a.Required; !slices.Equal(required, b.Required) {
			t.Errorf("%s requires %v, theirs %v", name, b.Required, required)
		}
		if our.Title != their.Title || our.OutputSchema == nil || our.Annotations.ReadOnly() != their.Annotations.ReadOnly() || our.Annotations.Destructive() != their.Annotations.Destructive() ||
			our.Annotations.Idempotent() != their.Annotations.Idempotent() || our.Annotations.OpenWorld() != their.Annotations.OpenWorld() {
			t.Errorf("%s: title %q and hints %+v, theirs %q and %+v", name, our.Title, our.Annotations, their.Title, their.Annotations)
		}
	}
}
