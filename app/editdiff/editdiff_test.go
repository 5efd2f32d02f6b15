package editdiff

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// Calls of servers in use are recognized by their arguments; a call with an argument
// of unknown meaning is not, since its diff could be wrong.
func TestFindRecognizesEditsAndNothingElse(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		tool, args, before, after string // after: empty if it is no edit, "!" if it fails
	}{
		"write":               {"write_file", `{"path":"f","content":"new\n"}`, "old\n", "new\n"},
		"file_path":           {"Write", `{"file_path":"f","content":"new\n"}`, "old\n", "new\n"},
		"edits":               {"edit_file", `{"path":"f","edits":[{"oldText":"a","newText":"b"},{"oldText":"b","newText":"c"}]}`, "a\n", "c\n"},
		"old_string":          {"Edit", `{"file_path":"f","old_string":"a","new_string":"b","replace_all":true}`, "a a\n", "b b\n"},
		"text editor":         {"str_replace_based_edit_tool", `{"command":"str_replace","path":"f","old_str":"a","new_str":"b"}`, "a\n", "b\n"},
		"text editor, create": {"str_replace_editor", `{"command":"create","path":"f","file_text":"b\n"}`, "a\n", "b\n"},
		"append":              {"append_to_file", `{"path":"f","content":"b\n"}`, "a\n", "a\nb\n"},
		"not there":           {"edit", `{"path":"f","old":"x","new":"b"}`, "a\n", "!"},
		"twice":               {"edit", `{"path":"f","old":"a","new":"b"}`, "a a\n", "!"},
		"too large":           {"edit", `{"path":"f","old":"a","new":"` + strings.Repeat("b", 20000) + `","replaceAll":true}`, strings.Repeat("a", 1000), "!"},
		"dry run":             {"edit_file", `{"path":"f","edits":[{"oldText":"a","newText":"b"}],"dryRun":true}`, "a\n", ""},
		"a line number":       {"edit_file", `{"path":"f","content":"b","line":3}`, "a\n", ""},
		"another tool":        {"search_file", `{"path":"f","text":"b"}`, "a\n", ""},
		"insert":              {"str_replace_editor", `{"command":"insert","path":"f","new_str":"b"}`, "a\n", ""},
		"no path":             {"write_file", `{"content":"b"}`, "a\n", ""},
		"half an edit":        {"edit_file", `{"path":"f","edits":[{"oldText":"a"}]}`, "a\n", ""},
		"both":                {"edit_file", `{"path":"f","content":"x","old":"a","new":"b"}`, "a\n", ""},
		"no JSON":             {"edit_file", `{"path"`, "a\n", ""},
	} {
		e, ok := Find(&mcp.Tool{Name: c.tool}, json.RawMessage(c.args))
		if ok != (c.after != "") {
			t.Errorf("%s: recognized: %v", name, ok)
			continue
		}
		if !ok {
			continue
		}
		after, err := e.Apply(c.before, true)
		if e.Path != "f" || (err != nil) != (c.after == "!") || err == nil && after != c.after {
			t.Errorf("%s: %s becomes %q, %v", name, e.Path, after, err)
		}
		if _, ok := Find(&mcp.Tool{Name: c.tool, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &yes}}, json.RawMessage(c.args)); ok {
			t.Errorf("%s: a read-only tool edits", name)
		}
	}
}

func to(path, text string) Edit {
	return Edit{path, func(string, bool) (string, error) { return text, nil }}
}

// The diff has the lines around a change, is bounded, and has nothing that a
// terminal or a page would obey.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	d := Of(to("f", "1\n2\n3\n4\n5\nsix\n7\n8\n9\n"), []string{dir})
	if d == nil || d.Text != "@@ -2,8 +2,8 @@\n 2\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9" || d.Added != 1 || d.Removed != 1 || d.New || d.Notes != nil || d.Path != filepath.Join(dir, "f") {
		t.Errorf("%+v", d)
	}
	if d := Of(to("g", "a\nb"), []string{dir}); !d.New || d.Text != "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file" {
		t.Errorf("%+v", d)
	}
	write(t, dir, "crlf", "a\r\nb\r\n")
	if d := Of(to("crlf", "a\r\nc\r\n"), []string{dir}); strings.ContainsAny(d.Text, "\r␍") || d.Notes != nil || d.Added != 1 {
		t.Errorf("%+v", d)
	}
	if d := Of(to("crlf", "a\nb\n"), []string{dir}); d.Text != "" || !slices.Contains(d.Notes, "Line ends change from CRLF to LF.") {
		t.Errorf("%+v", d)
	}
	if d := Of(to("crlf", "a\r\nb\n"), []string{dir}); !strings.Contains(d.Text, "-b␍") {
		t.Errorf("a changed line end among others is hidden: %+v", d)
	}
	hostile := Of(to("f", "\x1b[2J\u202eevil\x07\n"+strings.Repeat("x", 9999)+"\n"+strings.Repeat("y\n", 5000)), []string{dir})
	if strings.ContainsAny(hostile.Text, "\x1b\u202e\x07\r") || hostile.Left == 0 || len(hostile.Text) > maxLines*maxColumns || !strings.Contains(hostile.Text, "more characters)") || len(hostile.Notes) == 0 {
		t.Errorf("%d bytes, %d left out, notes %q: %.300q", len(hostile.Text), hostile.Left, hostile.Notes, hostile.Text)
	}
	if d := Of(to("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), []string{dir}); d.Text != "" || d.Notes[0] != "The file already has this content." {
		t.Errorf("%+v", d)
	}
	failing := Edit{"f", func(string, bool) (string, error) { return "", errors.New("no\x1b[2J") }}
	if d := Of(failing, []string{dir}); d.Text != "" || !strings.HasPrefix(d.Notes[0], "This call will probably fail: no") || strings.Contains(d.Notes[0], "\x1b") {
		t.Errorf("%+v", d)
	}
}

// Only regular text files of bounded size in the folders are read.
func TestOnlyFilesInTheFoldersAreRead(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	secret := write(t, other, "secret", "s3cret\n")
	for _, path := range []string{secret, "../" + filepath.Base(other) + "/secret", "", ".", dir, "a\x00b"} {
		if d := Of(to(path, "x"), []string{dir}); d != nil {
			t.Errorf("%q: %+v", path, d)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err == nil {
		if d := Of(to("link", "x"), []string{dir}); d != nil {
			t.Errorf("a link out of the folder is followed: %+v", d)
		}
	}
	if d := Of(to("f", "x"), []string{"relative", ""}); d != nil {
		t.Errorf("%+v", d)
	}
	write(t, dir, "large", strings.Repeat("x", maxFile+1))
	write(t, dir, "binary", "a\x00b")
	for _, name := range []string{"large", "binary"} {
		if d := Of(to(name, "x"), []string{dir}); d == nil || d.Text != "" || !strings.HasPrefix(d.Notes[0], "No difference is shown: ") {
			t.Errorf("%s: %+v", name, d)
		}
	}
	write(t, other, "here", "a\n")
	if d := Of(to("here", "b\n"), []string{dir, other}); d == nil || d.New || d.Path != filepath.Join(other, "here") {
		t.Errorf("a relative path is not found in the second folder: %+v", d)
	}
}

// A diff is current until the file changes, appears or disappears.
func TestCurrent(t *testing.T) {
	dir := t.TempDir()
	e := to("f", "b\n")
	absent := Of(e, []string{dir})
	p := write(t, dir, "f", "a\n")
	present := Of(e, []string{dir})
	if Current(absent, e, []string{dir}) || !Current(present, e, []string{dir}) {
		t.Error("a new file is not noticed")
	}
	write(t, dir, "f", "A\n")
	if Current(present, e, []string{dir}) {
		t.Error("a change is not noticed")
	}
	os.Remove(p)
	if Current(present, e, []string{dir}) || !Current(absent, e, []string{dir}) {
		t.Error("a removal is not noticed")
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\r\nb\n", "a\n\x1b[2J", `{"path":"f","old":"a","new":"b"}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, before, after, args string) {
		write(t, dir, "f", before)
		d := Of(to("f", after), []string{dir})
		if strings.ContainsAny(d.Text+strings.Join(d.Notes, ""), "\x1b\x07\r\u202e\x00") || len(d.Text) > maxLines*maxColumns*40 {
			t.Errorf("%q", d.Text)
		}
		if e, ok := Find(&mcp.Tool{Name: "edit_file"}, json.RawMessage(args)); ok {
			Of(e, []string{dir})
		}
	})
}
