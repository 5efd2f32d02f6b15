package notes

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

const canary = "CANARY-7f3a"

// jail is a vault beside a secret, with links that lead to it.
func jail(t *testing.T) (dir string) {
	t.Helper()
	outer := t.TempDir()
	dir = filepath.Join(outer, "vault")
	files(t, outer, map[string]string{
		"secret.md": canary, "outside/secret.md": canary, "vault/ok.md": "fine", "vault/sub/in.md": "inside",
		"vault/.git/hooks/pre-commit": "hook", "vault/.mcp.json": "{}", "vault/.obsidian/app.md": canary,
	})
	for from, to := range map[string]string{
		"link.md": "../secret.md", "abs.md": filepath.Join(outer, "secret.md"), "out": "../outside", "dangling.md": "../nowhere.md", "self.md": "self.md", "inner.md": "ok.md", "proc.md": "/proc/self/environ",
	} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// F02, F04, F06, F16: no path leads out of the vault, and none to what is
// hidden in it.
func TestHostilePaths(t *testing.T) {
	t.Setenv("TENON_CANARY", canary)
	dir := jail(t)
	s := serve(t, Config{Vault: dir})
	said := []string{
		"../secret", "../secret.md", "sub/../../secret.md", "a/./../..//secret.md", "/etc/passwd", filepath.Join(filepath.Dir(dir), "secret.md"), "~/x", "", ".", "..", "sub/..",
		"link.md", "link", "abs.md", "out/secret.md", "out/new.md", "dangling.md", "self.md", "inner.md", "proc.md", "/proc/self/environ", "%2e%2e/secret.md", "..%2fsecret.md", `..\secret.md`, "x\x00.md", "ok.md/../../secret.md",
		".obsidian/app.md", ".git/hooks/pre-commit", ".mcp.json", ".bashrc", ".trash/x.md", "sub/.hidden.md",
	}
	for _, path := range said {
		quoted, _ := json.Marshal(path)
		// In this order: what can be made, since "%2e%2e" is a folder like any
		// other, is deleted again before the addresses below are read.
		for _, each := range []struct{ tool, args string }{
			{"read_note", `{"path":%s}`},
			{"backlinks", `{"path":%s}`},
			{"create_note", `{"path":%s,"text":"evil"}`},
			{"update_note", `{"path":%s,"mode":"append","text":"evil"}`},
			{"delete_note", `{"path":%s,"confirm":true}`},
		} {
			tool := each.tool
			r := use(t, s, "", tool, fmt.Sprintf(each.args, quoted))
			if !r.Failed && !strings.Contains(path, "%2") { // a name like any other
				t.Errorf("%s %q: %+v", tool, path, r)
			}
			if strings.Contains(r.Text, canary) || strings.Contains(r.Text, filepath.Dir(dir)) && !strings.Contains(path, filepath.Dir(dir)) {
				t.Errorf("%s %q tells too much: %s", tool, path, r.Text)
			}
		}
		for _, uri := range []string{uriPrefix + path, uriOf(path), uriPrefix + strings.ReplaceAll(path, ".", "%2e"), uriPrefix + strings.ReplaceAll(path, "/", "%2F")} {
			quoted, _ := json.Marshal(uri)
			res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead, Params: fmt.Appendf(nil, `{"uri":%s}`, quoted)})
			if strings.Contains(string(res.Body), canary) || err == nil {
				t.Errorf("%q: %s", uri, res.Body)
			}
		}
	}
	if r := use(t, s, "", "search_notes", fmt.Sprintf(`{"query":%q}`, canary)); r.paths(t) != "" {
		t.Errorf("found %s", r.Text)
	}
	outer := filepath.Dir(dir)
	expect(t, "the secret", fileText(t, outer, "secret.md")+fileText(t, outer, "outside/secret.md"), canary+canary)
	expect(t, "hook", fileText(t, dir, ".git/hooks/pre-commit"), "hook")
	for _, name := range []string{"nowhere.md", "outside/new.md", "new.md"} {
		if _, err := os.Lstat(filepath.Join(outer, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// A pipe or a folder that is named like a note holds nobody up.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"ok.md": "fine", "folder.md/in.md": "inside", "huge.md": strings.Repeat("huge ", maxNote/5+1), "utf16.md": "\xff\xfea\x00", "empty.md": ""})
	pipe := runtime.GOOS != "windows" && exec.Command("mkfifo", filepath.Join(dir, "pipe.md")).Run() == nil
	s := serve(t, Config{Vault: dir})
	for name, want := range map[string]string{
		"ok.md": "fine", "folder.md": "", "folder.md/in.md": "inside", "huge.md": "larger than 8 MiB", "utf16.md": "UTF-16", "empty.md": "", "pipe.md": "",
	} {
		if name == "pipe.md" && !pipe {
			continue
		}
		r := use(t, s, "", "read_note", fmt.Sprintf(`{"path":%q}`, name))
		contains(t, name, r.Text, want)
		if want == "" && r.Failed == (name == "empty.md") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	expect(t, "a huge note is found by name", use(t, s, "", "search_notes", `{"query":"huge"}`).paths(t), "huge.md")
	if r := use(t, s, "", "update_note", `{"path":"huge","mode":"append","text":"x"}`); !r.Failed {
		t.Error("a huge note was changed")
	}
	if r := use(t, s, "", "update_note", fmt.Sprintf(`{"path":"ok","mode":"append","text":%q}`, strings.Repeat("y", 3_999_999))); r.Failed {
		t.Error(r.Text)
	}
	if r := use(t, s, "", "update_note", fmt.Sprintf(`{"path":"ok","mode":"append","text":%q}`, strings.Repeat("y", 3_999_999))); r.Failed {
		t.Error(r.Text)
	}
	contains(t, "too much", use(t, s, "", "update_note", fmt.Sprintf(`{"path":"ok","mode":"append","text":%q}`, strings.Repeat("y", 999_999))).Text, "larger than 8 MiB")
}

// F36: frontmatter that would explode, make objects or never end costs nothing.
func TestHostileFrontmatter(t *testing.T) {
	bomb := "---\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	bomb += "tags: *z\n---\n# Bomb\nfuse\n"
	all := map[string]string{
		"bomb.md":   bomb,
		"self.md":   "---\na: &a [*a,*a]\n---\nfuse\n",
		"object.md": "---\ntags: !!python/object/apply:os.system [id]\n---\nfuse\n",
		"long.md":   "---\ntags: [" + strings.Repeat("x, ", 2<<20) + "]\n---\nfuse\n",
		"deep.md":   "---\ntags: " + strings.Repeat("[", 30_000) + "\n---\nfuse\n",
		"keys.md":   "---\n" + strings.Repeat("k: v\n", 12_000) + "---\nfuse\n",
		"quote.md":  "---\ntitle: \"" + strings.Repeat(`\`, 60_000) + "\n---\nfuse\n",
	}
	for name, text := range all {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		parse(name, text)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s made %d KiB of itself", name, n>>10)
		}
	}
	dir, s := vaultOf(t, all)
	if found := strings.Split(use(t, s, "", "search_notes", `{"query":"fuse","limit":50}`).paths(t), ", "); len(found) != len(all) {
		t.Errorf("found %v", found)
	}
	for _, name := range []string{"bomb.md", "self.md", "object.md", "long.md"} {
		r := use(t, s, "", "update_note", fmt.Sprintf(`{"path":%q,"mode":"frontmatter","version":%q,"frontmatter":{"a":1}}`, name, versionOfNote(t, s, "", name)))
		contains(t, name, r.Text, "the frontmatter can only be changed")
		expect(t, name, fileText(t, dir, name)[:20], all[name][:20])
	}
	if tags := use(t, s, "", "list_tags", `{}`).Text; len(tags) > 100 {
		t.Errorf("tags: %s", tags)
	}
}

// Notes that are made to be slow. If one of them took more than its size, this
// test would not end.
func TestHostileShapes(t *testing.T) {
	const n = 1 << 18
	all := map[string]string{
		"headings.md": strings.Repeat("## h\n", n),
		"chain.md":    "# " + strings.Repeat("x", n) + "\n" + strings.Repeat("## h\n", n),
		"deep.md":     strings.Repeat("# h\n## h\n### h\n#### h\n##### h\n###### h\n", n/20),
		"links.md":    strings.Repeat("](", 2*n),
		"wiki.md":     strings.Repeat("[[", 2*n),
		"code.md":     strings.Repeat("` `` ``` ", n/2),
		"tags.md":     strings.Repeat("#", 2*n) + strings.Repeat(" #a", n),
		"same.md":     strings.Repeat("a", 4*n),
		"lines.md":    strings.Repeat("\n", 4*n),
		"fences.md":   strings.Repeat("```\n~~~\n", n/2),
	}
	_, s := vaultOf(t, all)
	for name := range all {
		version := versionOfNote(t, s, "", name)
		for _, args := range []string{
			`{"mode":"append","section":"h","text":"x"}`, `{"mode":"replace_section","section":"no such","text":"x"}`,
			`{"mode":"replace_text","old_text":"` + strings.Repeat("a", n) + `","text":"x"}`, `{"mode":"frontmatter","frontmatter":{"a":1}}`,
		} {
			use(t, s, "", "update_note", strings.Replace(args, "{", fmt.Sprintf(`{"path":%q,"version":%q,`, name, version), 1))
		}
		if r := use(t, s, "", "read_note", fmt.Sprintf(`{"path":%q,"limit":100}`, name)); r.Failed || len(r.Text)+len(r.Structured) > 64<<10 {
			t.Errorf("%s: %d bytes", name, len(r.Text)+len(r.Structured))
		}
	}
	use(t, s, "", "search_notes", `{"query":"\"h h\" a x","limit":50}`)
}

// Every tool lives on after arguments that fit no schema, and tells no path.
func TestHostileArguments(t *testing.T) {
	dir, s := vaultOf(t, golden)
	for tool := range map[string]bool{"search_notes": true, "get_recent_notes": true, "read_note": true, "create_note": true, "update_note": true, "delete_note": true, "list_tags": true, "backlinks": true} {
		for _, args := range []string{
			`{"path":5,"query":5}`, `{"path":"a","query":"x","limit":-1}`, `{"path":"a","query":"x","offset":-1}`, `{"path":"a","query":"x","limit":999999999999999999999}`, `{"path":"a","query":"x","mode":"append","text":5}`, `[]`, `{"path":"a","query":"x","__proto__":{}}`,
			`{"query":"\u0000","path":"\u0000"}`, fmt.Sprintf(`{"query":%q,"path":%q}`, strings.Repeat("x ", 5000), strings.Repeat("x/", 5000)),
		} {
			r := use(t, s, "", tool, args)
			if strings.Contains(r.Text, dir) {
				t.Errorf("%s %s: %s", tool, args, r.Text)
			}
		}
	}
	if r := use(t, s, "", "search_notes", `{"query":"garden"}`); r.Failed {
		t.Error(r.Text)
	}
}

// The process of another server was killed while it wrote: its litter is gone
// after the next start, and is never a note.
func TestLitter(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "sub", ".tenon-00000000-1-x.tmp")
	files(t, dir, map[string]string{"sub/.tenon-00000000-1-x.tmp": "half", "sub/a.md": "whole"})
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Vault: dir})
	if _, err := os.Lstat(old); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	expect(t, "found", use(t, s, "", "search_notes", `{"query":"whole half"}`).paths(t), "sub/a.md")
}

// A vault that cannot be read says so to whoever asks; the server lives.
func TestVaultGoesAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	files(t, dir, golden)
	s, err := New(Config{Vault: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := use(t, s, "", "search_notes", `{"query":"garden"}`); r.Failed {
		t.Fatal(r.Text)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"path":"Garden.md"}`, `{"path":"plan"}`} {
		if r := use(t, s, "", "read_note", args); !r.Failed || strings.Contains(r.Text, dir) {
			t.Errorf("%+v", r)
		}
	}
	if r := use(t, s, "", "create_note", `{"path":"x","text":"y"}`); !r.Failed || strings.Contains(r.Text, dir) {
		t.Errorf("%+v", r)
	}
}

// A server can be closed at any moment, also while it reads.
func TestCloseEarly(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		files(t, dir, map[string]string{fmt.Sprintf("d%d/n%d.md", i%20, i): strings.Repeat("words ", 1000)})
	}
	for i := range 20 {
		s, err := New(Config{Vault: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * time.Millisecond / 2) // any moment will do
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if r := use(t, s, "", "read_note", `{"path":"d0/n0.md"}`); !r.Failed {
			t.Error("a closed server reads")
		}
	}
}
