package term

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A question about an edit shows the difference to the file, folded until Ctrl-O,
// and for changed arguments the one that they would make.
func TestQuestionShowsTheDifference(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.txt")
	if err := os.WriteFile(file, []byte("first\nsecond\nthird\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type in struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	files := server.New(mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(files, "write_file", "Write a file", func(_ context.Context, _ *mcp.Call, in in) (string, error) {
		return "written", os.WriteFile(filepath.Join(dir, in.Path), []byte(in.Content), 0o600)
	}, nil)
	feed := NewFeed()
	w := deskIn(t, t.TempDir(), nil, feed, map[string]*server.Server{"files": files}, func(o *workspace.Options) { o.Host.Folder = dir })
	d := driveOn(t, w, feed, nil)
	d.types(`/call files/write_file '{"path":"plan.txt","content":"first\nsecond, \u001b[2Jchanged\nthird\n` + strings.Repeat(`more\n`, 30) + `"}'`)
	d.press("enter")
	d.until("the question", func() bool { return len(d.s.questions) == 1 })
	q := d.s.questions[0]
	th := newTheme("dark", true)
	body := func() string { lines, _ := q.body(76, &th); return strings.Join(lines, "\n") }
	for _, want := range []string{"Changes plan.txt (31 lines added, 1 removed):", th.bad.Render("-second"), th.good.Render("+second, \\u{1b}[2Jchanged"), "  \x20first", "more lines (ctrl+o)"} {
		if want = strings.TrimRight(want, "\n"); !strings.Contains(strings.ReplaceAll(body(), "\n", ""), strings.ReplaceAll(want, "\n", "")) {
			t.Errorf("%q is missing in\n%s", want, body())
		}
	}
	if strings.Contains(body(), "\x1b[2J") {
		t.Error("the difference controls the terminal")
	}
	q.full = true
	if n := strings.Count(body(), "+more"); n != 30 {
		t.Errorf("%d of 30 lines are shown in full", n)
	}
	q.edit = &editor{}
	q.edit.set(`{"path":"other.txt","content":"x\n"}`)
	d.press("ctrl+g")
	q.inside, q.write = true, doChange
	d.press("ctrl+s")
	if got := body(); !strings.Contains(got, "Creates ") || !strings.Contains(got, "other.txt") || strings.Contains(got, "-second") {
		t.Errorf("after a change of the arguments:\n%s", got)
	}
	d.send(nil)
	if err := w.Host.Reply(q.ask.ID, host.Reply{Action: "deny"}); err != nil {
		t.Error(err)
	}
	d.until("the end", func() bool { return d.s.turns == 0 })
}
