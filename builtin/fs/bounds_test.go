package fs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

// Two callers who edit different places of one file at the same time both get
// what they asked for: the file was read, changed and replaced by each without
// regard to the other, and every other edit was lost.
func TestEditsAtOnce(t *testing.T) {
	const callers = 24
	var text strings.Builder
	for i := range callers {
		fmt.Fprintf(&text, "old %02d.\n", i)
	}
	b := newBench(t, Config{}, map[string]string{"f.txt": text.String(), "link": "->f.txt"})
	var wg sync.WaitGroup
	for i := range callers {
		name := []string{"f.txt", "link"}[i%2]
		wg.Go(func() {
			got := b.says("edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"old %02d.","newText":"new %02d."}]}`, name, i, i))
			if strings.HasPrefix(got, "ERROR") {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(b.have("f.txt"), "new"); n != callers {
		t.Errorf("of %d edits %d are there:\n%s", callers, n, b.have("f.txt"))
	}
}

// Another program that saves the file while an edit of it is made is not
// overwritten.
func TestEditNoticesOthers(t *testing.T) {
	for name, other := range map[string]func(b *bench) error{
		"in place": func(b *bench) error { return os.WriteFile(b.path("f.txt"), []byte("theirs, longer"), 0o644) },
		"replaced": func(b *bench) error {
			if err := os.WriteFile(b.path("g"), []byte("their"), 0o644); err != nil {
				return err
			}
			return os.Rename(b.path("g"), b.path("f.txt"))
		},
		"removed": func(b *bench) error { return os.Remove(b.path("f.txt")) },
	} {
		b := newBench(t, Config{}, map[string]string{"f.txt": "mine\n"})
		p := location{b.roots[0], "f.txt"}
		old, err := p.root.dir.Lstat(p.rel)
		if err == nil {
			err = other(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := b.have("f.txt")
		if err := replaceSame(p, []byte("edited"), old, []byte("mine\n")); !errors.Is(err, safefile.ErrChanged) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		expect(t, name, b.have("f.txt"), want)
		if left, _ := os.ReadDir(b.dir); len(left) > 1 {
			t.Errorf("%s: there is now %v", name, left)
		}
	}
}

// What an edit makes of a file, and what it tells of it, stays within bounds
// whatever the arguments are; the quadratic ways of doing it would not end
// within the time of a test.
func TestEditsAreBounded(t *testing.T) {
	const mib = 1 << 20
	b := newBench(t, Config{MaxFile: 4 * mib, MaxResult: 32 << 10}, map[string]string{
		"a.txt": strings.Repeat("a", 1000), "ticks.txt": "x\n", "blank.txt": strings.Repeat("\n", 2*mib), "long.txt": "x" + strings.Repeat("y", mib),
	})
	for _, r := range []struct{ name, file, old, new, want string }{
		{"one text for each letter", "a.txt", "a", strings.Repeat("b", mib), "…the file would have 1048576000 bytes, but at most 4194304 can be edited"},
		{"one text that is too long", "ticks.txt", "x", strings.Repeat("b", 5*mib), "…but at most 4194304 can be edited"},
		{"very many backticks", "ticks.txt", "x", strings.Repeat("`", 2*mib), "…[Diff cut: "},
		{"a line that is longer than a result", "long.txt", "x", "z", "…[Diff cut: "},
		{"nearly there at every line", "blank.txt", " " + strings.Repeat("\n", mib) + "x", "z", "…Could not find exact match for edit:"},
		{"a long text that is not there", "a.txt", strings.Repeat("q", mib), "z", "…more bytes)"},
	} {
		got := b.says("edit_file", fmt.Sprintf(`{"path":%q,"dryRun":true,"edits":[{"oldText":%s,"newText":%s,"replaceAll":true}]}`, r.file, quoted(r.old), quoted(r.new)))
		if len(got) > 34<<10 {
			t.Errorf("%s: the answer has %d bytes", r.name, len(got))
		}
		expect(t, r.name, got[:min(len(got), 200)]+got[max(0, len(got)-200):], r.want)
	}
}

// A diff with backticks in it does not end its own fence.
func TestDiffFence(t *testing.T) {
	for ticks, fence := range map[int]string{0: "```diff\n", 2: "```diff\n", 3: "````diff\n", 99: strings.Repeat("`", 100) + "diff\n", 100: "+"} {
		if got := fenced("+"+strings.Repeat("`", ticks)+"\n", 1000); !strings.HasPrefix(got, fence) {
			t.Errorf("%d backticks: %q", ticks, got)
		}
	}
}

// A part of a file far from its start that is not text is told as such.
func TestZeroBytesFarAway(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"f": strings.Repeat("text\n", 4000)})
	if err := os.Truncate(b.path("f"), int64(racetest.Size(1<<30, 1<<27))); err != nil {
		t.Fatal(err)
	}
	b.run([]row{
		{"read_text_file", `{"path":"f","head":1}`, "text"},
		{"read_text_file", `{"path":"f","tail":1}`, "…it is binary (this part contains zero bytes)"},
		{"read_text_file", `{"path":"f","byteOffset":1000000}`, "…it is binary"},
	})
}

// Who cancels a search for a line does not wait until a large file is read.
func TestReadingCanBeCancelled(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"f": strings.Repeat("text\n", 4000)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &call{Call: &mcp.Call{}, files: b.files, areas: b.allRoots()}
	for name, s := range map[string]span{"offset": {offset: 1 << 30}, "tail": {tail: 1 << 30}} {
		if _, err := c.readText(ctx, "f", s, 1000); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := editFile(ctx, c, editArgs{Path: "f", Edits: []edit{{OldText: "text", NewText: "x", ReplaceAll: true}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("edit: %v", err)
	}
}

// Directories within each other without end do not make a search last without
// end: each step takes as long as the way down to it.
func TestDeepTree(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"near/needle.txt": "needle"})
	at, err := os.OpenRoot(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for range maxWalked + 50 {
		err := at.Mkdir("d", 0o755)
		var next *os.Root
		if err == nil {
			next, err = at.OpenRoot("d")
		}
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = next
	}
	if err := at.WriteFile("needle.txt", []byte("needle"), 0o644); err != nil {
		t.Fatal(err)
	}
	at.Close()
	r := b.call("search_files", `{"path":".","pattern":"**/needle.txt"}`)
	expect(t, "search", said(r), b.path("near/needle.txt"))
	expect(t, "search", string(r.StructuredContent), `…"unreadable":1`)
	expect(t, "grep", b.says("grep_files", `{"path":".","pattern":"needle"}`), b.path("near/needle.txt")+"\n1: needle")
}

// Names that could steer a terminal or turn a line around are told by their
// characters, and those that are not UTF-8 by their bytes.
func TestMisleadingNames(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"ok": ""})
	for _, name := range []string{"c1\u009b31m", "txt.\u202egpj", "raw\xff"} {
		if err := os.WriteFile(b.path(name), nil, 0o644); err != nil {
			needtest.Missing(t, err.Error())
		}
	}
	expect(t, "list", b.says("list_directory", `{"path":"."}`), "[FILE] \"c1\\u009b31m\"\n[FILE] ok\n[FILE] \"raw\\xff\"\n[FILE] \"txt.\\u202egpj\"")
}

// The lines around a match are found without going over the whole file for
// each of them.
func TestLinesBefore(t *testing.T) {
	for _, r := range []struct {
		data string
		n    int
		want string
	}{
		{"", 2, "[]"}, {"\n", 2, `[""]`}, {"a\n", 1, `["a"]`}, {"a\nb\nc\n", 2, `["b" "c"]`}, {"\n\nb\n", 2, `["" "b"]`}, {"a\nb\n", 9, `["a" "b"]`},
	} {
		expect(t, fmt.Sprintf("%q %d", r.data, r.n), fmt.Sprintf("%q", linesBefore([]byte(r.data), r.n)), r.want)
	}
}
