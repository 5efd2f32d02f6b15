package builtin

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
)

// What a preview says is what the server then writes.
func TestPreviewsSayWhatIsWritten(t *testing.T) {
	for name, c := range map[string]struct{ kind, option, tool, args, before string }{
		"fs, write":      {"fs", "root", "write_file", `{"path":"a.md","content":"new\r\n","confirm":true}`, "old\n"},
		"fs, edit":       {"fs", "root", "edit_file", `{"path":"a.md","edits":[{"oldText":"two\nthree","newText":"2\n3"}]}`, "one\r\ntwo\r\nthree\r\n"},
		"fs, loosely":    {"fs", "root", "edit_file", `{"path":"a.md","edits":[{"oldText":"two  ","newText":"2"}]}`, "one\n\ttwo\n"},
		"notes, create":  {"notes", "vault", "create_note", `{"path":"a","text":"# A\n","frontmatter":{"tags":["x"]}}`, ""},
		"notes, append":  {"notes", "vault", "update_note", `{"path":"a.md","mode":"append","section":"B","text":"more"}`, "# A\n\n## B\n\nb\n\n## C\n"},
		"notes, add tag": {"notes", "vault", "update_note", `{"path":"a.md","mode":"add_tags","tags":["y"]}`, "---\ntags: [x]\n---\n# A\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a.md")
			if c.before != "" {
				if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			q := url.Values{c.option: {dir}}
			folders, preview := Previews(c.kind, q)
			path, apply, ok := preview(c.tool, json.RawMessage(c.args))
			if len(folders) != 1 || folders[0] != dir || !ok || path != "a.md" {
				t.Fatalf("%q, %q, %v", folders, path, ok)
			}
			want, err := apply(c.before, c.before != "")
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(c.kind, q)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := client.New(s, nil).CallTool(t.Context(), c.tool, json.RawMessage(c.args), nil)
			if err != nil || r.IsError {
				t.Fatalf("%v %+v", err, r)
			}
			if got, _ := os.ReadFile(file); string(got) != want || want == c.before {
				t.Errorf("the preview is %q, and the file %q", want, got)
			}
		})
	}
	if _, preview := Previews("calc", nil); preview != nil {
		t.Error("calc edits files")
	}
	folders, preview := Previews("fs", url.Values{})
	if _, _, ok := preview("read_text_file", json.RawMessage(`{"path":"a"}`)); ok || strings.Join(folders, "") != "." {
		t.Errorf("reading is an edit, or the folder is %q", folders)
	}
}
