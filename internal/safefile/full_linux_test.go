package safefile_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// The disk is full in the middle of a write: the old file stays, and nothing
// else does.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		needtest.Missing(t, "a small disk cannot be made here, which takes root: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	root := open(t, dir)
	old := content(1)
	if err := safefile.WriteFile(root, "a", old, 0o600); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), 1<<20)
	for name, err := range map[string]error{"a": safefile.WriteFile(root, "a", large, 0o600), "b": safefile.Create(root, "b", large, 0o600)} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _ := root.ReadFile("a"); !bytes.Equal(got, old) || names(t, dir) != "a" {
		t.Errorf("%d bytes, and there is %s", len(got), names(t, dir))
	}
	if err := safefile.WriteFile(root, "a", content(2), 0o600); err != nil {
		t.Errorf("there is room again, but: %v", err)
	}
}
