//go:build unix

package api

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A file that is a pipe or a device is refused at once: opening or reading it could
// wait forever, or never end. A large file is refused before it is read.
func TestSpecialAndLargeFilesAreNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Skip(err) // the file system has no sparse files
	}
	for name, want := range map[string]string{
		pipe: "cannot read " + pipe + ": it is not a regular file", dir: "cannot read " + dir + ": it is not a regular file",
		"/dev/zero": "cannot read /dev/zero: it is not a regular file",
		large:       "cannot read " + large + ": it is larger than 4 MiB", filepath.Join(dir, "none"): "there is no file " + filepath.Join(dir, "none"),
	} {
		done := make(chan error, 1)
		go func() { done <- Check(Config{File: name}) }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("reading %s hangs", name)
		}
	}
}
