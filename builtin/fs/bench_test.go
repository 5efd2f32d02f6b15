package fs

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead is a small file through the whole server.
func BenchmarkRead(b *testing.B) {
	s := newBench(b, Config{}, map[string]string{"sub/a.txt": strings.Repeat("a line of text\n", 100)})
	for b.Loop() {
		if r := s.call("read_text_file", `{"path":"sub/a.txt"}`); r.IsError {
			b.Fatal(r.Content.Text())
		}
	}
}

// BenchmarkWrite is a small file, forced to the disk.
func BenchmarkWrite(b *testing.B) {
	s := newBench(b, Config{Ask: AskNever}, map[string]string{"a.txt": ""})
	for b.Loop() {
		if r := s.call("write_file", `{"path":"a.txt","content":"text"}`); r.IsError {
			b.Fatal(r.Content.Text())
		}
	}
}

// BenchmarkGrep searches 2,000 files of 10 KB.
func BenchmarkGrep(b *testing.B) {
	tree := map[string]string{}
	for i := range 2000 {
		tree[fmt.Sprintf("%d/%d.txt", i%20, i)] = strings.Repeat(fmt.Sprintf("line of file %d, with some words in it\n", i), 250)
	}
	s := newBench(b, Config{}, tree)
	for b.Loop() {
		if r := s.call("grep_files", `{"path":".","pattern":"file 1999, with"}`); r.IsError {
			b.Fatal(r.Content.Text())
		}
	}
}
