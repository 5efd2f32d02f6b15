package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Trimming keeps the newest lines, also those that another shell has added since
// the file was read.
func TestHistoryTrimKeepsLinesOfOtherShells(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var all strings.Builder
	for i := range 2*maxHistory + 1 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	write(t, file, all.String())
	mine, other := &history{file: file}, &history{file: file}
	other.Add("of another shell")
	mine.trim()
	other.Add("and one more")
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	if want := []string{fmt.Sprintf("line %d", 2*maxHistory), "of another shell", "and one more"}; len(lines) != maxHistory+1 || strings.Join(lines[len(lines)-3:], "|") != strings.Join(want, "|") {
		t.Errorf("%d lines, the last are %q", len(lines), lines[len(lines)-3:])
	}
}
