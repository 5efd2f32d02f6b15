//go:build unix

package fs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	children["nospace"] = writeTooMuch
}

// writeTooMuch writes through the tools where no file may have more than 8 KiB,
// as if the disk were full from there on.
func writeTooMuch() {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f, err := open(Config{Roots: []string{os.Getenv("FS_TEST_DIR")}, Ask: AskNever})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c := &call{files: f, areas: f.allRoots()}
	_, err = writeFile(context.Background(), c, writeArgs{Path: "old.txt", Content: strings.Repeat("x", 100<<10)})
	fmt.Println("write:", err)
	_, err = writeFile(context.Background(), c, writeArgs{Path: "new.txt", Content: strings.Repeat("x", 100<<10)})
	fmt.Println("new:", err)
	_, err = editFile(context.Background(), c, editArgs{Path: "old.txt", Edits: []edit{{OldText: "old", NewText: strings.Repeat("y", 100<<10)}}})
	fmt.Println("edit:", err)
	f.server.Close()
}

// F14: a disk that is full in the middle of a write leaves the old file, and
// nothing beside it.
func TestF14NoSpace(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"old.txt": "the old text"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), "FS_TEST_CHILD=nospace", "FS_TEST_DIR="+dir)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"write: old.txt was not written; nothing was changed: ", "new: new.txt was not written", "edit: old.txt was not written"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	entries, err := os.ReadDir(dir)
	data, _ := os.ReadFile(filepath.Join(dir, "old.txt"))
	if err != nil || len(entries) != 1 || string(data) != "the old text" {
		t.Errorf("there is %v, and in the file %q", entries, data)
	}
}
