package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type writeIn struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// writer is a server that writes files and counts its calls.
func writer(dir string, n *int) *server.Server {
	s := server.New(mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(s, "write_file", "Write a file", func(_ context.Context, _ *mcp.Call, in writeIn) (string, error) {
		*n++
		return "written", os.WriteFile(filepath.Join(dir, in.Path), []byte(in.Content), 0o600)
	}, nil)
	return s
}

// A question about an edit has the difference to the file on the disk. If the file
// changes before the call, the user is asked again with the new one, and the call is
// made once.
func TestQuestionHasTheDiffOfTheFileAsItIs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one\nhunter2hunter2\n")
	made := 0
	b := newBench(t, func(o *Options) { o.Folder = dir }, calls("files__write_file", `{"path":"a.txt","content":"two\n"}`), says("ok"))
	b.attach("files", writer(dir, &made))
	b.host.known.Add("x", "hunter2hunter2")
	var asked []Ask
	b.answers = func(a Ask) *Reply {
		asked = append(asked, a)
		if len(asked) == 1 {
			put("three\n")
		}
		return &Reply{Action: "once"}
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || made != 1 {
		t.Fatalf("asked %d times, and %d calls", len(asked), made)
	}
	if d := asked[0].Diff; d == nil || !strings.Contains(d.Text, "-one") || !strings.Contains(d.Text, "+two") || strings.Contains(d.Text, "hunter2") {
		t.Errorf("the first diff is %+v", d)
	}
	if d := asked[1].Diff; d == nil || !strings.Contains(d.Text, "-three") || !strings.Contains(strings.Join(asked[1].Warnings, ""), "has changed since you allowed") {
		t.Errorf("the second diff is %+v, warnings %q", d, asked[1].Warnings)
	}
}

// Changed arguments have a difference of their own.
func TestPreviewOfChangedArguments(t *testing.T) {
	dir := t.TempDir()
	made := 0
	b := newBench(t, func(o *Options) { o.Folder = dir }, calls("files__write_file", `{"path":"a.txt","content":"two\n"}`), says("ok"))
	b.attach("files", writer(dir, &made))
	b.answers = func(a Ask) *Reply {
		other := []byte(`{"path":"b.txt","content":"other\n"}`)
		if d := b.host.Preview(a.ID, other); !a.Diff.New || d == nil || filepath.Base(d.Path) != "b.txt" || !strings.Contains(d.Text, "+other") {
			t.Errorf("the diff is %+v, and after a change %+v", a.Diff, d)
		}
		return &Reply{Action: "once", Arguments: other}
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "b.txt")); string(got) != "other\n" || made != 1 {
		t.Errorf("written: %q", got)
	}
}
