//go:build unix

package safefile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// holdLock is what a child does: it takes the lock and keeps it.
func init() {
	dir := os.Getenv("SAFEFILE_LOCK")
	if dir == "" {
		return
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		_, err = LockRoot(context.Background(), root, ".")
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("locked\n")
	time.Sleep(time.Hour) // the test ends it
}

func lockOf(t *testing.T, dir string, wait time.Duration) (unlock func(), err error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return LockRoot(ctx, root, ".")
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// A process that is killed loses its lock, and leaves nothing in the folder.
func TestLockEndsWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "SAFEFILE_LOCK="+dir)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockOf(t, dir, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another process has it: %v", err)
	}
	empty(t, dir)
	child.Process.Kill()
	child.Wait()
	unlock, err := lockOf(t, dir, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	empty(t, dir)
}

// Where a directory cannot be locked, a file in it is, which is gone afterwards.
func TestLockFile(t *testing.T) {
	dir := t.TempDir()
	flock = func(fd, how int) error {
		var s unix.Stat_t
		if unix.Fstat(fd, &s); s.Mode&unix.S_IFMT == unix.S_IFDIR {
			return syscall.EBADF
		}
		return unix.Flock(fd, how)
	}
	defer func() { flock = unix.Flock }()
	var held atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		d, err := root.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		wg.Go(func() {
			for range 200 {
				release, err := lockProcess(t.Context(), d, identity{}) // past the queue of this process
				if err != nil {
					t.Error(err)
					return
				}
				if n := held.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				held.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
	empty(t, dir)
}

// A file system without locks is refused, in words.
func TestNoLocks(t *testing.T) {
	dir := t.TempDir()
	flock = func(int, int) error { return syscall.ENOLCK }
	defer func() { flock = unix.Flock }()
	if _, err := lockOf(t, dir, time.Second); !errors.Is(err, ErrNoLocks) {
		t.Errorf("%v", err)
	}
	if err := Update(filepath.Join(dir, "file"), 0o600, add("x")); !errors.Is(err, ErrNoLocks) {
		t.Errorf("update: %v", err)
	}
	empty(t, dir)
}

// Two folders are locked in one order, whoever names which first.
func TestLockTwo(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		names := []string{"a", "b", "a"}
		if i%2 == 0 {
			names = []string{"b", "a"}
		}
		wg.Go(func() {
			for range 100 {
				unlock, err := LockRoot(t.Context(), root, names...)
				if err != nil {
					t.Error(err)
					return
				}
				unlock()
			}
		})
	}
	wg.Wait()
}
