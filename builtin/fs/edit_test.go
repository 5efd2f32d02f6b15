package fs

import (
	"fmt"
	"github.com/tenon-mcp/tenon/internal/linediff"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestEditFile(t *testing.T) {
	for _, r := range []struct {
		name, before string
		edits        []edit
		after        string // or the error, after an ellipsis
	}{
		{"one line", "a\nb\nc\n", []edit{{OldText: "b", NewText: "B"}}, "a\nB\nc\n"},
		{"no final newline", "a\nb", []edit{{OldText: "b", NewText: "B"}}, "a\nB"},
		{"CR LF stays", "a\r\nb\r\nc\r\n", []edit{{OldText: "b\n", NewText: "B\nBB\n"}}, "a\r\nB\r\nBB\r\nc\r\n"},
		{"CR LF in the edit, LF in the file", "a\nb\nc\n", []edit{{OldText: "b\r\nc", NewText: "B\r\nC"}}, "a\nB\nC\n"},
		{"mixed: what is not touched stays", "one\ntwo\r\nthree\r\nfour", []edit{{OldText: "one", NewText: "1"}}, "1\ntwo\r\nthree\r\nfour"},
		{"mixed: as in the stretch", "one\ntwo\nthree\r\nfour\r\nfive\r\n", []edit{{OldText: "one\ntwo", NewText: "1\n2"}}, "1\n2\nthree\r\nfour\r\nfive\r\n"},
		{"mixed: a new line as in most of the file", "one\ntwo\r\nthree\r\n", []edit{{OldText: "one", NewText: "0\n1"}}, "0\r\n1\ntwo\r\nthree\r\n"},
		{"a lone CR is a character", "a\rb\nc\n", []edit{{OldText: "b", NewText: "x\ny"}}, "a\rx\ny\nc\n"},
		{"BOM stays", "\ufeffa\nb\n", []edit{{OldText: "a", NewText: "A"}}, "\ufeffA\nb\n"},
		{"one after the other", "a\nb\n", []edit{{OldText: "a", NewText: "b"}, {OldText: "b\nb", NewText: "c"}}, "c\n"},
		{"several places", "x\na\nx\n", []edit{{OldText: "x", NewText: "y"}}, "…oldText occurs 2 times, in lines 1, 3; include more"},
		{"overlapping itself, all places", "xxx\n", []edit{{OldText: "xx", NewText: "y", ReplaceAll: true}}, "yx\n"},
		{"overlapping itself", "xxx\n", []edit{{OldText: "xx", NewText: "y"}}, "…oldText occurs 2 times, in lines 1, 1"},
		{"all places", "x\na\nx\n", []edit{{OldText: "x", NewText: "yy", ReplaceAll: true}}, "yy\na\nyy\n"},
		{"all places, CR LF", "x\r\nx\r\n", []edit{{OldText: "x\n", NewText: "y\nz\n", ReplaceAll: true}}, "y\r\nz\r\ny\r\nz\r\n"},
		{"white space", "  if x {\n    y\n  }\n", []edit{{OldText: "if x {\n  y\n}", NewText: "if z {\n  y\n}"}}, "  if z {\n  y\n}\n"},
		{"white space in several places", "  x\n\tx\n", []edit{{OldText: "x ", NewText: "y"}}, "…ignoring white space it occurs 2 times, in lines 1, 2"},
		{"white space, CR LF", "\tx\r\n\ty\r\n", []edit{{OldText: "x\ny", NewText: "a\nb"}}, "\ta\r\nb\r\n"},
		{"not there", "a\n", []edit{{OldText: "q", NewText: "x"}}, "…Could not find exact match for edit:\nq"},
		{"nearly there", "alpha\nbeta\n", []edit{{OldText: "beta\ngamma", NewText: "x"}}, "…Line \"beta\" is line 2 of the file"},
		{"the second fails", "a\nb\n", []edit{{OldText: "a", NewText: "A"}, {OldText: "q", NewText: "x"}}, "…edit 2 of 2 failed, nothing was changed: "},
		{"empty old text", "a\n", []edit{{NewText: "x"}}, "…oldText is empty"},
		{"a dollar is a dollar", "a\n", []edit{{OldText: "a", NewText: "$& $1 \\1"}}, "$& $1 \\1\n"},
		{"deletion", "a\nb\n", []edit{{OldText: "a\n"}}, "b\n"},
		{"binary", "a\x00b", []edit{{OldText: "a", NewText: "x"}}, "…cannot be read as text"},
		{"Latin-1", "caf\xe9", []edit{{OldText: "c", NewText: "x"}}, "…cannot be read as text"},
	} {
		b := newBench(t, Config{}, map[string]string{"f.txt": r.before})
		var parts []string
		for _, e := range r.edits {
			parts = append(parts, fmt.Sprintf(`{"oldText":%s,"newText":%s,"replaceAll":%t}`, quoted(e.OldText), quoted(e.NewText), e.ReplaceAll))
		}
		args := `{"path":"f.txt","edits":[` + strings.Join(parts, ",") + `]`
		dry := b.says("edit_file", args+`,"dryRun":true}`)
		expect(t, r.name+", dry run", b.have("f.txt"), r.before)
		wet := b.says("edit_file", args+`}`)
		if dry != wet {
			t.Errorf("%s: the dry run says %q, and the edit %q", r.name, dry, wet)
		}
		if strings.HasPrefix(r.after, "…") {
			expect(t, r.name, wet, r.after)
			expect(t, r.name, b.have("f.txt"), r.before)
			continue
		}
		expect(t, r.name, b.have("f.txt"), r.after)
		if !strings.HasPrefix(wet, "```diff\n") {
			t.Errorf("%s: no diff: %s", r.name, wet)
		}
	}
}

// A diff says what patch needs to make the new text of the old one.
func TestDiffCanBeApplied(t *testing.T) {
	needtest.Program(t, "patch")
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	text := func() string {
		var b strings.Builder
		for range random.IntN(40) {
			fmt.Fprintln(&b, strings.Repeat("x", random.IntN(4)))
		}
		if random.IntN(3) == 0 {
			b.WriteString("open")
		}
		return b.String()
	}
	change := func(s string) string {
		lines := linediff.Split(s)
		for range random.IntN(5) {
			if len(lines) == 0 {
				break
			}
			i := random.IntN(len(lines))
			switch random.IntN(3) {
			case 0:
				lines = append(lines[:i:i], lines[i+1:]...)
			case 1:
				lines[i] = "changed\n"
			default:
				lines = append(lines[:i:i], append([]string{"new\n"}, lines[i:]...)...)
			}
		}
		return strings.Join(lines, "")
	}
	for range 150 {
		before := text()
		after := change(before)
		if random.IntN(10) == 0 {
			after = text()
		}
		d := unified("f", before, after)
		if before == after {
			continue
		}
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("patch", "-s", "--posix", name)
		cmd.Stdin = strings.NewReader(d.text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s\n%q\n%q\n%s", err, out, before, after, d.text)
		}
		if got, _ := os.ReadFile(name); string(got) != after {
			t.Fatalf("patched: %q, want %q\n%s", got, after, d.text)
		}
	}
}

// Texts that have nothing in common are still compared soon.
func TestDiffOfStrangers(t *testing.T) {
	var a, b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i)
	}
	d := unified("f", a.String()+"same\n", b.String()+"same\n")
	if d.added != 20_000 || d.removed != 20_000 {
		t.Errorf("%d added, %d removed", d.added, d.removed)
	}
}

// settled replaces CR LF until there is none: an edit may put a CR before a line break,
// and a file may have several.
func settled(s string) string {
	for strings.Contains(s, "\r\n") {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\nc", "b", "x\ny", false)
	f.Add("\tx\r\n\ty\r\n", "x\ny", "a\nb", true)
	f.Add("\r\r\nb", "b", "x\n\x7f", true)
	f.Fuzz(func(t *testing.T, text, old, repl string, all bool) {
		d := newDocument(text)
		if strings.ReplaceAll(text, "\r\n", "\n") != d.plain {
			t.Fatalf("%q is seen as %q", text, d.plain)
		}
		after, err := d.apply(edit{OldText: old, NewText: repl, ReplaceAll: all}, 1<<20)
		if err != nil {
			return
		}
		if strings.Count(d.plain, strings.ReplaceAll(old, "\r\n", "\n")) == 1 {
			want := strings.Replace(d.plain, strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(repl, "\r\n", "\n"), 1)
			if settled(want) != settled(after.plain) {
				t.Fatalf("%q became %q, want %q", text, after.plain, want)
			}
		}
	})
}
