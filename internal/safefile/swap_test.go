package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func swapDir(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	for name, text := range map[string]string{"file": "old", "temp": "ours"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, root
}

func have(t *testing.T, root *os.Root, name string) string {
	t.Helper()
	b, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file is replaced only if it is what the caller read.
func TestSwap(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		fails  error
		want   string
	}{
		"unchanged": {func(string) error { return nil }, nil, "ours"},
		"in place":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), []byte("new"), 0o600) }, ErrChanged, "new"},
		"removed":   {func(dir string) error { return os.Remove(filepath.Join(dir, "file")) }, fs.ErrNotExist, "nothing"},
		"a folder": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "file")), os.Mkdir(filepath.Join(dir, "file"), 0o700))
		}, ErrChanged, ""},
	} {
		dir, root := swapDir(t)
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		if err := Swap(root, "temp", "file", []byte("old")); !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" {
			if got := have(t, root, "file"); got != c.want {
				t.Errorf("%s: the file has %q, want %q", name, got, c.want)
			}
		}
		if got := have(t, root, "temp"); (got == "nothing") != (c.fails == nil) {
			t.Errorf("%s: temp has %q", name, got)
		}
	}
}

// A file that another program has open for writing is not taken away from it.
func TestSwapSeesWriters(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	dir, root := swapDir(t)
	f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := Swap(root, "temp", "file", []byte("old")); !errors.Is(err, errOpen) {
		t.Errorf("%v", err)
	}
	if _, err := f.WriteString(" and more"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := have(t, root, "file"); got != "old and more" {
		t.Errorf("the file has %q", got)
	}
}

// S1: a program that saves to both files while they are exchanged loses neither
// version.
func TestSwapKeepsBothVersions(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("names cannot be exchanged here")
	}
	dir, root := swapDir(t)
	exchanged = func() {
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		write("temp", "saved first") // as if it had the name a moment before
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("saved second"), 0o600); err != nil {
			t.Error(err)
		}
	}
	defer func() { exchanged = func() {} }()
	err := Swap(root, "temp", "file", []byte("old"))
	if err == nil || errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "file.conflict-1") {
		t.Errorf("error %v", err)
	}
	if one, two := have(t, root, "file"), have(t, root, "file.conflict-1"); one != "saved first" || two != "saved second" {
		t.Errorf("kept %q and %q", one, two)
	}
}

// What other programs save while a file is put back is not lost: the newest of
// it has the name in the end.
func TestPutBack(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("names cannot be exchanged here")
	}
	dir, root := swapDir(t)
	save := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := root.Rename("new", "file"); err != nil {
			t.Fatal(err)
		}
	}
	ours, err := root.Lstat("temp")
	if err != nil {
		t.Fatal(err)
	}
	save("saved while we wrote")
	if err := exchange(root, "temp", "file"); err != nil {
		t.Fatal(err)
	}
	if err := putBack(root, "temp", "file", ours); err != nil || have(t, root, "file") != "saved while we wrote" || have(t, root, "temp") != "ours" {
		t.Errorf("%v: %q, %q", err, have(t, root, "file"), have(t, root, "temp"))
	}
	if err := exchange(root, "temp", "file"); err != nil {
		t.Fatal(err)
	}
	save("saved again")
	if err := putBack(root, "temp", "file", ours); err != nil || have(t, root, "file") != "saved again" {
		t.Errorf("%v: %q", err, have(t, root, "file"))
	}
	if err := exchange(root, "temp", "file"); err != nil {
		t.Fatal(err)
	}
	if err := root.Remove("file"); err != nil {
		t.Fatal(err)
	}
	if err := putBack(root, "temp", "file", ours); err != nil || have(t, root, "file") != "saved again" {
		t.Errorf("removed: %v: %q", err, have(t, root, "file"))
	}
}
