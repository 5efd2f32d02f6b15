package fs

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

func init() {
	children["write"] = writeForEver
}

// The two contents that a child writes in turn. They are of different lengths,
// so that a mixture of them is none of them.
var contents = []string{strings.Repeat("old content\n", 9_000), strings.Repeat("the new content, which is longer\n", 7_000)}

// replaceLocked is replace as the tools call it.
func replaceLocked(c *call, p location, data []byte, old os.FileInfo) error {
	unlock, err := c.lock(context.Background(), p)
	if err != nil {
		return err
	}
	defer unlock()
	return replace(p, data, old)
}

// writeForEver writes, edits and creates files until it is killed.
func writeForEver() {
	f, err := open(Config{Roots: []string{os.Getenv("FS_TEST_DIR")}, Ask: AskNever})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c := &call{files: f, areas: f.allRoots()}
	fmt.Println("ready")
	for i := 0; ; i++ {
		text := contents[i%2]
		p, old, err := c.forWriting("file.txt")
		if err == nil {
			err = replaceLocked(c, p, []byte(text), old)
		}
		if err == nil {
			p, old, err = c.forWriting(fmt.Sprintf("new/%d.txt", i%3))
		}
		if err == nil && old != nil {
			err = p.root.dir.Remove(p.rel)
		}
		if err == nil {
			err = replaceLocked(c, p, []byte(text), nil)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// F14: whenever the process is killed, each file is an old or a new one as a
// whole, and after a restart nothing else is left.
func TestF14KilledAtAnyMoment(t *testing.T) {
	kills := racetest.Size(1000, 200)
	if testing.Short() {
		kills = 50
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var litter, states sync.Map
	for range 4 {
		dir := t.TempDir()
		plant(t, dir, map[string]string{"file.txt": contents[0], "new/": ""})
		all.Go(func() {
			for kill := range kills / 4 {
				if !killOnce(t, self, dir, kill, &litter, &states) {
					return
				}
			}
		})
	}
	all.Wait()
	left, seen := 0, map[any]int{}
	litter.Range(func(any, any) bool { left++; return true })
	states.Range(func(_, v any) bool { seen[v]++; return true })
	t.Logf("%d kills, %d of them in the middle of a write; found %v", kills, left, seen)
	if left == 0 || len(seen) < 2 {
		t.Error("no kill came in the middle of a write: nothing was tested")
	}
}

// killOnce lets a child write for a moment, kills it, and looks.
func killOnce(t *testing.T, self, dir string, kill int, litter, states *sync.Map) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), "FS_TEST_CHILD=write", "FS_TEST_DIR="+dir)
	var stderr strings.Builder
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Error(err)
		return false
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		child.Wait()
		t.Errorf("the child did not start: %v %s", err, stderr.String())
		return false
	}
	time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond) // the random moment
	child.Process.Kill()
	child.Wait()
	if stderr.Len() > 0 {
		t.Errorf("the child failed: %s", stderr.String())
		return false
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*", ".tenon-*")); len(found) > 0 {
		litter.Store(dir+fmt.Sprint(kill), true)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, ".tenon-*")); len(found) > 0 {
		litter.Store(dir+fmt.Sprint(kill), true)
	}
	return restarted(t, dir, kill, states)
}

// restarted starts the server again and checks what is there then.
func restarted(t *testing.T, dir string, kill int, states *sync.Map) bool {
	f, err := open(Config{Roots: []string{dir}})
	if err != nil {
		t.Error(err)
		return false
	}
	<-f.swept
	f.server.Close()
	ok := true
	filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		switch {
		case unfinished().MatchString(info.Name()):
			t.Errorf("kill %d: %s was left behind", kill, name)
			ok = false
		case err != nil || string(data) != contents[0] && string(data) != contents[1]:
			t.Errorf("kill %d: %s is neither the old nor the new file: %d bytes, %v", kill, name, len(data), err)
			ok = false
		case info.Name() == "file.txt":
			states.Store(dir+fmt.Sprint(kill), len(data))
		}
		return nil
	})
	return ok
}

// A file that another process is writing is not taken for one that was left:
// whoever writes holds the lock of the directory.
func TestSweepSparesTheLiving(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"sub/x": ""})
	<-b.swept
	plant(t, b.dir, map[string]string{
		"sub/.tenon-ffffffffffffffffffffffff.part": "", ".tenon-000000000000000000000000.part": "left",
		".tenon-short.part": "somebody else's", "x.part": "somebody else's",
	})
	if got := b.says("search_files", `{"path":".","pattern":"**"}`); strings.Contains(got, "ffffffffffffffffffffffff") {
		t.Errorf("an unfinished file is shown: %s", got)
	}
	unlock, err := safefile.LockRoot(t.Context(), b.roots[0].dir, "sub")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	sweep(ctx, b.roots[0])
	unlock()
	for name, want := range map[string]string{
		"sub/.tenon-ffffffffffffffffffffffff.part": "", ".tenon-000000000000000000000000.part": "does not exist",
		".tenon-short.part": "somebody else's", "x.part": "somebody else's",
	} {
		expect(t, name, b.have(name), want)
	}
	sweep(t.Context(), b.roots[0])
	expect(t, "what is free again", b.have("sub/.tenon-ffffffffffffffffffffffff.part"), "does not exist")
}

// What is kept when a file is replaced.
func TestWriteKeepsTheMode(t *testing.T) {
	b := newBench(t, Config{Ask: AskNever}, map[string]string{"run.sh": "old"})
	if err := os.Chmod(b.path("run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	b.run([]row{
		{"write_file", `{"path":"run.sh","content":"new"}`, "Successfully wrote to run.sh"},
		{"edit_file", `{"path":"run.sh","edits":[{"oldText":"new","newText":"newer"}]}`, "…+newer"},
	})
	info, err := os.Stat(b.path("run.sh"))
	if err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	expect(t, "run.sh", b.have("run.sh"), "newer")
}

// A file that came into being after it was looked for is not overwritten.
func TestNewFilesReplaceNothing(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"there.txt": "mine"})
	<-b.swept
	p := location{b.roots[0], "there.txt"}
	if err := replace(p, []byte("yours"), nil); err != errExists {
		t.Errorf("got %v", err)
	}
	expect(t, "there.txt", b.have("there.txt"), "mine")
	if left, _ := filepath.Glob(b.path(".tenon-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
