package safefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// list is the names in a folder, with spaces between.
func list(t *testing.T, root *os.Root) string {
	t.Helper()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// Sweep removes what killed processes left, and nothing that is being written.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var mine string
	err = write(root, "a", nil, 0o600, false, func(temp string) error {
		mine = temp
		if n := Sweep(root, "."); n != 0 {
			t.Errorf("%d files were swept away under the writer", n)
		}
		return root.Rename(temp, "a")
	})
	if err != nil || !IsTemp(mine) {
		t.Fatalf("%v, %s", err, mine)
	}
	old := ".tenon-00000000-1-x.tmp"
	for _, name := range []string{mine, old, ".tenon-00000001-1-x.tmp", "tenon.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, old), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := Sweep(root, "."); n != 2 || list(t, root) != ".tenon-00000001-1-x.tmp a tenon.tmp" {
		t.Errorf("%d swept, left %s", n, list(t, root))
	}
}
