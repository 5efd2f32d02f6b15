package fs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/edittest"
)

// jobs are what several processes do to one folder at the same time, each with
// a server of its own.
var jobs = map[string]edittest.Job{"edit": editJob, "write": writeJob, "take": takeJob, "shuffle": shuffleJob}

func writer(dir string) (*call, func()) {
	f, err := open(Config{Roots: []string{dir}, Ask: AskNever})
	if err != nil {
		panic(err)
	}
	return &call{files: f, areas: f.allRoots()}, func() { f.server.Close() }
}

func addLine(c *call, path, line string) bool {
	_, err := editFile(context.Background(), c, editArgs{Path: path, Edits: []edit{{OldText: "END", NewText: line + "\nEND"}}})
	return err == nil
}

// editJob adds lines to one file.
func editJob(dir, name string, n int) (done []string) {
	c, end := writer(dir)
	defer end()
	for i := range n {
		if line := fmt.Sprintf("%s-%d.", name, i); addLine(c, "file.txt", line) {
			done = append(done, line)
		}
	}
	return done
}

// writeJob writes files whose names all processes use.
func writeJob(dir, name string, n int) (done []string) {
	c, end := writer(dir)
	defer end()
	for i := range n {
		out, err := writeFile(context.Background(), c, writeArgs{Path: fmt.Sprintf("new/%d.txt", i), Content: strings.Repeat(name, 1000)})
		if err == nil {
			done = append(done, fmt.Sprintf("%d %s %v", i, name, out.Created))
		}
	}
	return done
}

// takeJob moves files that all processes want to a folder of its own.
func takeJob(dir, name string, n int) (done []string) {
	c, end := writer(dir)
	defer end()
	for i := range n {
		_, err := moveFile(context.Background(), c, moveArgs{Source: fmt.Sprintf("pool/%d", i), Destination: fmt.Sprintf("%s/%d", name, i)})
		if err == nil {
			done = append(done, fmt.Sprintf("%s/%d", name, i))
		}
	}
	return done
}

// shuffleJob adds lines to a file that moves between two folders meanwhile.
func shuffleJob(dir, name string, n int) (done []string) {
	c, end := writer(dir)
	defer end()
	for i := 0; len(done) < n && i < 20*n; i++ {
		here, there := "a/file.txt", "b/other.txt"
		if i%2 == 1 {
			here, there = there, here
		}
		if line := fmt.Sprintf("%s-%d.", name, i); addLine(c, here, line) {
			done = append(done, line)
		}
		moveFile(context.Background(), c, moveArgs{Source: here, Destination: there})
	}
	return done
}

// each runs a test with two and with four processes.
func each(t *testing.T, tree map[string]string, test func(t *testing.T, dir string, processes int)) {
	for _, processes := range []int{2, 4} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, tree)
			test(t, dir, processes)
			if left, _ := filepath.Glob(filepath.Join(dir, ".tenon-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// S1: an edit that was reported as done is in the file, however many processes
// edit it.
func TestProcessesLoseNoEdit(t *testing.T) {
	each(t, map[string]string{"file.txt": "END\n"}, func(t *testing.T, dir string, processes int) {
		edittest.CheckLines(t, filepath.Join(dir, "file.txt"), nil, edittest.Run(t, "edit", dir, processes))
	})
}

// S1: also if another program changes the file in place and by renaming. What
// that program saved is there, too.
func TestProcessesAndAnEditorLoseNoEdit(t *testing.T) {
	each(t, map[string]string{"file.txt": "END\n"}, func(t *testing.T, dir string, processes int) {
		file := filepath.Join(dir, "file.txt")
		stop := edittest.StartEditor(t, file)
		reported := edittest.Run(t, "edit", dir, processes)
		saved, dropped := stop()
		edittest.CheckLines(t, file, dropped, append(reported, saved))
	})
}

// S1: of several processes that create a file, one does; what is there in the
// end was written by one of them, whole.
func TestProcessesCreateFilesOnce(t *testing.T) {
	each(t, nil, func(t *testing.T, dir string, processes int) {
		created, wrote := map[string]int{}, map[string]bool{}
		for _, all := range edittest.Run(t, "write", dir, processes) {
			for _, d := range all {
				var i, name string
				var isNew bool
				fmt.Sscan(d, &i, &name, &isNew)
				wrote[i+name] = true
				if isNew {
					created[i]++
				}
			}
		}
		for i := range edittest.Changes() / processes {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("new/%d.txt", i)))
			if err != nil {
				t.Fatal(err)
			}
			name := string(text[:2])
			if n := created[fmt.Sprint(i)]; n != 1 || string(text) != strings.Repeat(name, 1000) || !wrote[fmt.Sprint(i)+name] {
				t.Errorf("file %d was created %d times, and has %d bytes of %s", i, n, len(text), name)
			}
		}
	})
}

// S1: of several processes that move a file, one does.
func TestProcessesMoveFilesOnce(t *testing.T) {
	tree := map[string]string{"w0/": "", "w1/": "", "w2/": "", "w3/": ""}
	for i := range edittest.Changes() {
		tree[fmt.Sprintf("pool/%d", i)] = fmt.Sprint(i)
	}
	each(t, tree, func(t *testing.T, dir string, processes int) {
		moved := 0
		for _, all := range edittest.Run(t, "take", dir, processes) {
			moved += len(all)
			for _, name := range all {
				if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != filepath.Base(name) {
					t.Errorf("%s was reported as moved: %q, %v", name, text, err)
				}
			}
		}
		if want := edittest.Changes() / processes; moved != want {
			t.Errorf("%d files were reported as moved, of %d", moved, want)
		}
	})
}

// S1: a file that moves while it is edited keeps every edit.
func TestProcessesEditWhatMoves(t *testing.T) {
	each(t, map[string]string{"a/file.txt": "END\n", "b/": ""}, func(t *testing.T, dir string, processes int) {
		reported := edittest.Run(t, "shuffle", dir, processes)
		file := filepath.Join(dir, "a/file.txt")
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(dir, "b/other.txt")
		}
		edittest.CheckLines(t, file, nil, reported)
	})
}
