package safefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// A program that opens the file for writing while it is being replaced waits, and
// then writes to the file that has the name.
func TestSwapMakesWritersWait(t *testing.T) {
	dir, root := swapDir(t)
	f, err := root.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	old, err := f.Stat()
	if granted, _ := lease(f); !granted || err != nil {
		needtest.Missing(t, "this file system has no leases")
	}
	f.Close()
	saved := make(chan error, 1)
	exchanged = func() {
		go func() { // by its second name, since the first is that of the new file
			f, err := os.OpenFile(filepath.Join(dir, "temp"), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.WriteString(" and more")
				err = errors.Join(err, f.Close())
			}
			saved <- err
		}()
		for range 3000 {
			if isBreaking(t, old) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("the program does not wait")
	}
	defer func() { exchanged = func() {} }()
	if err := Swap(root, "temp", "file", []byte("old")); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
	if err := <-saved; err != nil {
		t.Error(err)
	}
	if got := have(t, root, "file"); got != "old and more" || have(t, root, "temp") != "ours" {
		t.Errorf("the file has %q", got)
	}
}

// isBreaking reports whether a program waits for a lease on a file.
func isBreaking(t *testing.T, file os.FileInfo) bool {
	t.Helper()
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, "BREAKING") && strings.Contains(line, fmt.Sprintf(":%d ", file.Sys().(*syscall.Stat_t).Ino)) {
			return true
		}
	}
	return false
}
