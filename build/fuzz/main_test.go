package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTableAddsUp(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(file, []byte("before\n"+begin+"\n"+end+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := update(file, []target{{"b", "FuzzB", 1_234_567}, {"a/x", "FuzzA", 10}}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "\nafter\n", "2,469,154 executions of 2 targets", "| `a/x` | `FuzzA` | 20 |\n| `b` | `FuzzB` | 2,469,134 |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q", text, want)
		}
	}
	if err := os.WriteFile(file, []byte("no table"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := update(file, nil, time.Now()); err == nil {
		t.Error("a file without a table is accepted")
	}
}

func TestSpreadHasAllSizes(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for n := range 100 {
		all = append(all, make([]byte, 100-n))
	}
	var sizes []int
	for _, data := range spread(all, 4) {
		sizes = append(sizes, len(data))
	}
	if !slices.Equal(sizes, []int{13, 38, 63, 88}) {
		t.Errorf("the sizes are %v", sizes)
	}
	if len(spread(all[:3], 4)) != 3 || len(spread(all, -1)) != 0 {
		t.Error("too many")
	}
}

// Every target has a corpus in the tree, of few and small files.
func TestCorpusIsSmall(t *testing.T) {
	t.Parallel()
	all, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		files, err := filepath.Glob(filepath.Join("../..", x.dir, "testdata", "fuzz", x.name, "*"))
		if err != nil {
			t.Fatal(err)
		}
		size := int64(0)
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if len(files) == 0 || len(files) > 20 || size > 50<<10 {
			t.Errorf("%s has %d files of %d bytes in testdata/fuzz; use go run ./build/fuzz -keep 10", x, len(files), size)
		}
	}
}

// The document names no target that does not exist.
func TestDocumentNamesTargets(t *testing.T) {
	t.Parallel()
	all, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := parse(string(text))
	if len(all) < 60 || len(listed) < 20 {
		t.Errorf("%d targets were found, and %d are in the document", len(all), len(listed))
	}
	for _, x := range listed {
		if !slices.ContainsFunc(all, func(o target) bool { return o.String() == x.String() }) {
			t.Errorf("docs/reliability.md has %s, which does not exist: remove the line", x)
		}
	}
}
