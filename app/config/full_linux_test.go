package config

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// O34: a disk that is full leaves the old file, and the person is told. A limit
// on the size of files makes the disk full for this process.
func TestDiskFull(t *testing.T) {
	if dir := os.Getenv("TENON_TEST_FULL"); dir != "" {
		fillUp(t, dir)
		return
	}
	w := newWorld(t).project(`{"mcpServers": {"p": {"command": "x"}}}`)
	old := `{"mcpServers": {"a": {"command": "` + strings.Repeat("x", 5000) + `"}}}`
	w.user(old)
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
	cmd.Env = append(os.Environ(), "TENON_TEST_FULL="+filepath.Dir(w.o.Dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if readFile(t, w.userFile()) != old {
		t.Error("the old file is not as it was")
	}
	if left, _ := os.ReadDir(w.o.UserDir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func fillUp(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	var whole syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64, Max: whole.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole)
	user := filepath.Join(dir, "home", "tenon")
	wantError(t, Add(filepath.Join(user, "tenon.json"), "b", Entry{Command: "y"}), "tenon.json", "file too large", "is unchanged")
	c, err := Load(&Options{Dir: filepath.Join(dir, "project"), UserDir: user})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Server("p")
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenApprovals(c.ApprovalsFile())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, a.Approve(s), "save the approval", "approvals.json")
	if a.Check(s).Approved {
		t.Error("approved though it could not be kept")
	}
}

// A project that names a pipe or a device keeps nobody waiting.
func TestNoPipesOrDevices(t *testing.T) {
	w := newWorld(t)
	pipe := filepath.Join(w.o.Dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, "/dev/zero"} {
		w.project(`{"mcpServers": {"s": {"command": "x", "envFile": "` + file + `"}, "p": {"command": "` + pipe + `"}}}`)
		_, err := w.load().Server("s")
		wantError(t, err, "envFile is not readable", "not a regular file")
		if v := w.approvals().Check(w.server("p")); v.Approved {
			t.Errorf("%+v", v)
		}
		if err := os.Remove(w.projectFile()); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, w.projectFile()); err != nil {
			t.Fatal(err)
		}
		_, err = Load(&w.o)
		wantError(t, err, ".mcp.json is not a regular file")
		if err := os.Remove(w.projectFile()); err != nil {
			t.Fatal(err)
		}
	}
}
