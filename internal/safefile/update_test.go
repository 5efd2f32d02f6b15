package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// add is an edit that appends a text.
func add(text string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) { return append(old[:len(old):len(old)], text...), nil }
}

func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "new", "file")
	for range 2 {
		if err := Update(file, 0o600, add("x")); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "xx" {
		t.Errorf("%q, %v", text, err)
	}
	fails := errors.New("no")
	if err := Update(file, 0o600, func([]byte) ([]byte, error) { return nil, fails }); !errors.Is(err, fails) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := Update(dir, 0o600, add("x")); err == nil {
		t.Error("a directory was changed")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Skip("there are no links here") // Windows, without the right to make them
	}
	if err := Update(link, 0o600, add("y")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "xxy" {
		t.Errorf("behind the link: %q, %v", text, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := Update(link, 0o600, add("z")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
}

// What a program without the lock writes while edit runs is not lost.
func TestUpdateStartsAgain(t *testing.T) {
	for name, start := range map[string]string{"new": "", "old": "old "} {
		file := filepath.Join(t.TempDir(), "file")
		if start != "" {
			if err := os.WriteFile(file, []byte(start), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		err := Update(file, 0o600, func(old []byte) ([]byte, error) {
			if calls++; calls == 1 {
				if err := os.WriteFile(file, []byte(start+"theirs "), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return add("ours")(old)
		})
		if text, _ := os.ReadFile(file); err != nil || string(text) != start+"theirs ours" || calls != 2 {
			t.Errorf("%s: %q after %d calls, %v", name, text, calls, err)
		}
	}
}
