package safefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SAFEFILE_WRITE_IN"); dir != "" {
		writeForEver(dir)
	}
	leaktest.Main(m)
}

func open(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	root := open(t, dir)
	for _, text := range []string{"one", "two, and longer", ""} {
		if err := safefile.WriteFile(root, "a", []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, _ := root.ReadFile("a"); string(got) != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if runtime.GOOS != "windows" {
		if err := root.Chmod("a", 0o604); err != nil {
			t.Fatal(err)
		}
		if err := safefile.WriteFile(root, "a", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if info, _ := root.Stat("a"); info.Mode().Perm() != 0o604 {
			t.Errorf("the mode became %v", info.Mode())
		}
	}
	if got := names(t, dir); got != "a" {
		t.Errorf("there is %s", got)
	}
}

func TestWriteFileRefuses(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root := open(t, dir)
	for _, err := range []error{os.Symlink(secret, filepath.Join(dir, "link")), os.Symlink(outside, filepath.Join(dir, "out")), os.Mkdir(filepath.Join(dir, "sub"), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "out/new", "../x", "/etc/x", "sub", "nowhere/x"} {
		if err := safefile.WriteFile(root, name, []byte("new"), 0o600); err == nil {
			t.Errorf("%s was written", name)
		}
		if err := safefile.Create(root, name, []byte("new"), 0o600); err == nil {
			t.Errorf("%s was created", name)
		}
	}
	if got, _ := os.ReadFile(secret); string(got) != "old" {
		t.Errorf("the file outside is now %q", got)
	}
	if got := names(t, dir) + names(t, outside); got != "link out sub"+"secret" {
		t.Errorf("there is %s", got)
	}
}

// Of many who create one file, one does.
func TestCreateOnce(t *testing.T) {
	dir := t.TempDir()
	root := open(t, dir)
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := safefile.Create(root, "a", fmt.Append(nil, i), 0o600)
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || names(t, dir) != "a" {
		t.Errorf("%d have created it, and there is %s", won.Load(), names(t, dir))
	}
}

// content is a file that tells whether it is whole.
func content(fill byte) []byte { return bytes.Repeat([]byte{fill}, 64<<10+int(fill)) }

func whole(b []byte) bool { return len(b) > 0 && bytes.Equal(b, content(b[0])) }

func writeForEver(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	for i := byte(1); ; i = i%200 + 1 {
		if err := safefile.WriteFile(root, "a", content(i), 0o600); err != nil {
			panic(err)
		}
	}
}

// A process is killed while it writes: the file is whole, and after a sweep
// nothing else is there. SAFEFILE_KILLS says how often, 25 times otherwise.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs to know at once that a process is gone")
	}
	kills := 25
	fmt.Sscan(os.Getenv("SAFEFILE_KILLS"), &kills)
	dir := t.TempDir()
	root := open(t, dir)
	litter := 0
	for range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SAFEFILE_WRITE_IN="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(20 * time.Millisecond)) // any moment will do
		cmd.Process.Kill()
		cmd.Wait()
		if b, err := root.ReadFile("a"); err == nil && !whole(b) {
			t.Fatalf("half a file: %d bytes", len(b))
		}
		litter += safefile.Sweep(root, ".")
		if got := names(t, dir); got != "a" && got != "" {
			t.Fatalf("there is %s", got)
		}
	}
	t.Logf("%d of %d kills left a file to sweep", litter, kills)
}
