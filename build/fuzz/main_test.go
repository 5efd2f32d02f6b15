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
