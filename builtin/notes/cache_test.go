package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A shelved vault is large enough to be kept, and old enough to be trusted.
func shelved(t *testing.T) (vault, cache string) {
	t.Helper()
	vault, cache = t.TempDir(), t.TempDir()
	all := map[string]string{}
	for i := range minCached + 50 {
		all[fmt.Sprintf("folder%d/note %d.md", i%5, i)] = fmt.Sprintf("---\ntags: [t%d]\naliases: [alias%d]\n---\n# Title %d\nword%dx [[note %d]]\n", i%3, i, i, i, i+1)
	}
	files(t, vault, all)
	for name := range all {
		age(t, filepath.Join(vault, name), time.Hour)
	}
	return vault, cache
}

func age(t *testing.T, file string, by time.Duration) {
	t.Helper()
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-by)); err != nil {
		t.Fatal(err)
	}
}

// asked is what a server on a vault says that was just started, and how many
// notes it read for it.
func asked(t *testing.T, vault, cache, tool, args string) (text string, read int64) {
	t.Helper()
	c := Config{Vault: vault, Cache: cache, Log: slog.New(slog.DiscardHandler)}
	v, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.server(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.run(ctx)
	}()
	r := use(t, s, "", tool, args)
	cancel()
	<-ended
	if err := v.root.Close(); err != nil {
		t.Error(err)
	}
	if r.Failed {
		t.Error(r.Text)
	}
	return r.paths(t), v.done.Load()
}

func searched(t *testing.T, vault, cache, query string) (string, int64) {
	t.Helper()
	return asked(t, vault, cache, "search_notes", fmt.Sprintf(`{"query":%q}`, query))
}

func cacheOf(t *testing.T, cache string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("there is %v, %v", all, err)
	}
	return all[0]
}

// S5: a second process reads no note that has not changed, and knows all that
// the first one knew.
func TestIndexIsKept(t *testing.T) {
	vault, cache := shelved(t)
	if got, read := searched(t, vault, cache, "word7x"); got != "folder2/note 7.md" || read != minCached+50 {
		t.Errorf("%s, %d notes read", got, read)
	}
	if info, err := os.Stat(cacheOf(t, cache)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, row := range []struct{ tool, args, want string }{
		{"search_notes", `{"query":"word7x"}`, "folder2/note 7.md"},
		{"search_notes", `{"query":"alias9"}`, "folder4/note 9.md"},
		{"get_recent_notes", `{"tag":"t1","folder":"folder3","limit":1}`, "folder3/note 13.md"},
		{"backlinks", `{"path":"note 8"}`, "folder2/note 7.md"},
	} {
		got, read := asked(t, vault, cache, row.tool, row.args)
		if read != 0 || row.tool != "get_recent_notes" && !strings.HasPrefix(got, row.want) {
			t.Errorf("%s %s: %s, %d notes read", row.tool, row.args, got, read)
		}
	}
}

// S5: the index is believed only as far as the files are the same: a note that
// changed is read, even if its size and time did not.
func TestKeptIndexIsChecked(t *testing.T) {
	vault, cache := shelved(t)
	searched(t, vault, cache, "word7x")
	file := func(name string) string { return filepath.Join(vault, name) }
	old, err := os.Stat(file("folder2/note 7.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(fileText(t, vault, "folder2/note 7.md"), "word7x ", "wordXx ", 1)
	if err := os.WriteFile(file("folder2/note 7.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file("folder2/note 7.md"), time.Time{}, old.ModTime()); err != nil {
		t.Fatal(err)
	}
	files(t, vault, map[string]string{"new.md": "brandnew"})
	age(t, file("new.md"), time.Hour)
	if err := os.Remove(file("folder3/note 8.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file("folder4/note 9.md"), file("folder4/moved.md")); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("files have no time here that cannot be set")
	}
	for query, want := range map[string]string{"wordXx": "folder2/note 7.md", "word8x": "", "brandnew": "new.md", "word9x": "folder4/moved.md"} {
		if got, read := searched(t, vault, cache, query); strings.Split(got, ", ")[0] != want || read > 3 {
			t.Errorf("%s: %q, want %q; %d notes read", query, got, want, read)
		}
	}
}

// S5: a note that is so young that it could change without its time showing it
// is read again.
func TestYoungNotesAreNotBelieved(t *testing.T) {
	vault, cache := shelved(t)
	age(t, filepath.Join(vault, "folder2/note 7.md"), 0)
	searched(t, vault, cache, "word7x")
	if _, read := searched(t, vault, cache, "word7x"); read != 1 {
		t.Errorf("%d notes were read", read)
	}
}

// S5: a file that is damaged anywhere, or that others may write, counts as none.
func TestDamagedIndexIsNotUsed(t *testing.T) {
	vault, cache := shelved(t)
	searched(t, vault, cache, "word7x")
	file := cacheOf(t, cache)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		b := bytes.Clone(whole)
		if i%2 == 0 {
			b = b[:r.IntN(len(b))]
		} else {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := readCache(file, vault); err == nil || c != nil {
			t.Fatalf("damage %d was not noticed", i)
		}
	}
	if got, read := searched(t, vault, cache, "word7x"); got != "folder2/note 7.md" || read != minCached+50 {
		t.Errorf("%s, %d notes read", got, read)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o620); err != nil {
			t.Fatal(err)
		}
		if _, err := readCache(file, vault); err == nil {
			t.Error("a file that others may write was used")
		}
	}
	if _, err := readCache(file, vault+"2"); err == nil {
		t.Error("the index of another vault was used")
	}
}

// S5: processes that keep the index at the same time do not disturb each other.
func TestManyKeepTheIndex(t *testing.T) {
	vault, cache := shelved(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := New(Config{Vault: vault, Cache: cache})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search_notes","arguments":{"query":"word7x"}}`)})
			if err != nil || !strings.Contains(string(res.Body), "folder2/note 7.md") {
				t.Errorf("%s, %v", res.Body, err)
			}
		})
	}
	wg.Wait()
	if got, read := searched(t, vault, cache, "word7x"); got != "folder2/note 7.md" || read != 0 {
		t.Errorf("%s, %d notes read", got, read)
	}
}

// Small vaults, and those that say so, are not kept.
func TestIndexIsNotKept(t *testing.T) {
	vault, cache := shelved(t)
	searched(t, vault, "off", "word7x")
	small := t.TempDir()
	files(t, small, golden)
	searched(t, small, cache, "garden")
	if left, _ := os.ReadDir(cache); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}
