package fs

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

// withoutRoots is a client that has the capability and no directories to name.
var withoutRoots = &client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}

// The usual day of a client, in every revision.
func TestEveryEra(t *testing.T) {
	b := newBench(t, Config{Ask: AskNever}, map[string]string{"a.txt": "one\ntwo\n", "logo.png": "png"})
	mcptest.EveryEra(t, b.server, func(t *testing.T, h mcp.Handler) {
		c := client.New(h, withoutRoots)
		defer c.Close()
		tools, err := client.All(c.Tools(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if len(tools) != 16 {
			t.Errorf("%d tools, want 16", len(tools))
		}
		for _, r := range []row{
			{"write_file", `{"path":"new/f.txt","content":"a\nb\n"}`, "Successfully wrote to new/f.txt"},
			{"edit_file", `{"path":"new/f.txt","edits":[{"oldText":"b","newText":"c"}]}`, "…-b\n+c\n"},
			{"read_text_file", `{"path":"new/f.txt"}`, "a\nc\n"},
			{"read_media_file", `{"path":"logo.png"}`, ""},
			{"list_directory", `{"path":"new"}`, "[FILE] f.txt"},
			{"list_directory_with_sizes", `{"path":"new"}`, "…Total: 1 files, 0 directories\nCombined size: 4 B"},
			{"directory_tree", `{"path":"new"}`, "[\n  {\n    \"name\": \"f.txt\",\n    \"type\": \"file\"\n  }\n]"},
			{"search_files", `{"path":".","pattern":"**/f.txt"}`, "ROOT/new/f.txt"},
			{"grep_files", `{"path":".","pattern":"^c$"}`, "ROOT/new/f.txt\n2: c"},
			{"get_file_info", `{"path":"new/f.txt"}`, "…size: 4"},
			{"create_directory", `{"path":"d/e"}`, "Successfully created directory d/e"},
			{"move_file", `{"source":"new/f.txt","destination":"d/e/g.txt"}`, "Successfully moved new/f.txt to d/e/g.txt"},
			{"read_multiple_files", `{"paths":["d/e/g.txt"]}`, "d/e/g.txt:\na\nc\n\n"},
			{"delete_file", `{"path":"d","recursive":true}`, "Successfully deleted d"},
			{"delete_file", `{"path":"new"}`, "Successfully deleted new"},
			{"list_allowed_directories", `{}`, "Allowed directories:\nROOT"},
		} {
			// The client holds what comes against the output schemas.
			got, err := c.CallTool(t.Context(), r.tool, []byte(r.args), nil)
			if err != nil {
				t.Errorf("%s: %v", r.tool, err)
				continue
			}
			expect(t, r.tool, said(got), b.fill(r.want))
		}
	})
}

// Every tool says what it does, in hints and in schemas, and a read-only server
// has no others than those that change nothing.
func TestTools(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		b := newBench(t, Config{ReadOnly: readOnly}, map[string]string{"a.txt": "x"})
		c := client.New(b.server, nil)
		defer c.Close()
		changing := 0
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			a := tool.Annotations
			if a == nil || a.ReadOnlyHint == nil || a.OpenWorld() || tool.OutputSchema == nil || tool.Title == "" || tool.Description == "" {
				t.Errorf("%s does not say everything of itself", tool.Name)
			}
			if !a.ReadOnly() {
				changing++
				if a.DestructiveHint == nil || a.IdempotentHint == nil {
					t.Errorf("%s does not say how it changes things", tool.Name)
				}
			}
		}
		if want := map[bool]int{false: 5, true: 0}[readOnly]; changing != want {
			t.Errorf("read-only %t: %d tools change something, want %d", readOnly, changing, want)
		}
		if readOnly {
			for tool, more := range writers {
				expect(t, tool, b.says(tool, `{"path":"a.txt"`+more+`}`), "…unknown tool")
			}
			expect(t, "directories", string(b.call("list_allowed_directories", `{}`).StructuredContent), `…"readOnly":true`)
			d, err := c.Discover(t.Context())
			if err != nil || !strings.HasPrefix(d.Instructions, "All files are read-only. ") || strings.Contains(d.Instructions, "edit_file") {
				t.Errorf("%+v, %v", d, err)
			}
		}
	}
}

// Several roots, one in another, and a root that is named by a link.
func TestSeveralRoots(t *testing.T) {
	near, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, near, map[string]string{"one/a.txt": "1", "two/b.txt": "2", "two/toOne": "->../one/a.txt", "two/toOneAbs": "->" + near + "/one", "named": "->two", "one/in/c.txt": "3"})
	b := newBench(t, Config{Roots: []string{near + "/one", near + "/named", near + "/one/in", near + "/one"}}, nil)
	b.near = near
	b.run([]row{
		{"list_allowed_directories", `{}`, "Allowed directories:\nNEAR/one\nNEAR/two\nNEAR/one/in"},
		{"read_text_file", `{"path":"b.txt"}`, "2"},
		{"read_text_file", `{"path":"NEAR/named/b.txt"}`, "2"},
		{"read_text_file", `{"path":"NEAR/two/toOne"}`, "1"},
		{"read_text_file", `{"path":"NEAR/two/toOneAbs/a.txt"}`, "1"},
		{"read_text_file", `{"path":"NEAR/one/in/c.txt"}`, "3"},
		{"move_file", `{"source":"NEAR/one/a.txt","destination":"NEAR/two/moved.txt"}`, "…Successfully"},
		{"read_text_file", `{"path":"NEAR/two/moved.txt"}`, "1"},
		{"move_file", `{"source":"NEAR/one/in","destination":"NEAR/two/in"}`, "…is an allowed directory; it cannot"},
	})
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"file": ""})
	for name, c := range map[string]Config{
		"does not exist":  {Roots: []string{filepath.Join(dir, "missing")}},
		"not a directory": {Roots: []string{dir, filepath.Join(dir, "file")}},
		"not be negative": {Roots: []string{dir}, MaxFile: -1},
		"Ask must be":     {Roots: []string{dir}, Ask: "sometimes"},
		"unknown name":    {Roots: []string{dir}, AllowSensitive: []string{"x"}},
		"path is empty":   {Roots: []string{""}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	t.Chdir(dir)
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(callOn(t, s, "list_directory", `{"path":"."}`)); got != "[FILE] file" {
		t.Errorf("the working directory: %s", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	t.Setenv("HOME", dir)
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "your home directory, which is served only if it is named; name the directories to serve, such as root=") {
		t.Errorf("the home directory was opened without being named: %v", err)
	}
	os.Chdir("/")
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "the root of the file system, which is served only if it is named") {
		t.Errorf("everything was opened without being named: %v", err)
	}
}

func TestFromQuery(t *testing.T) {
	for query, want := range map[string]any{
		"":                                    Config{},
		"root=.&readonly=1":                   Config{Roots: []string{"."}, ReadOnly: true},
		"root=a&root=b&ask=never":             Config{Roots: []string{"a", "b"}, Ask: AskNever},
		"allow=.git&allow=.mcp.json":          Config{AllowSensitive: []string{".git", ".mcp.json"}},
		"hardlinks=deny&clientroots=ignore":   Config{DenyHardLinks: true, IgnoreClientRoots: true},
		"hardlinks=allow&clientroots=narrow":  Config{},
		"maxresult=1000&maxfile=5&pagesize=7": Config{MaxResult: 1000, MaxFile: 5, PageSize: 7},
		"rot=.":                               `unknown setting "rot"; fs has root, readonly, ask, allow, hardlinks, clientroots, maxresult, maxfile, pagesize`,
		"readonly=maybe":                      `readonly must be 1 or 0, got "maybe"`,
		"readonly=1&readonly=0":               `readonly is set 2 times`,
		"hardlinks=x":                         `must be deny or allow`,
		"ask=maybe":                           `ask must be loss, change or never, got "maybe"`,
		"maxfile=0":                           `must be a number of at least 1`,
		"a=1&b=2":                             "\n",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := FromQuery(q)
		if text, ok := want.(string); ok {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %s", query, err, text)
			}
		} else if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
}
