//go:build unix

package sql_test

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
)

// absent skips a test whose program is not installed, or fails it where
// everything has to run.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("MUST_RUN") == "1" {
		t.Fatal(what + " (MUST_RUN=1: no test may be skipped)")
	}
	t.Skip(what)
}

// find looks for a program where Debian puts it.
func find(names ...string) string {
	for _, name := range names {
		if found, _ := filepath.Glob(name); len(found) > 0 {
			return found[len(found)-1]
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// A host runs the programs of one database server, in a directory of their own
// and as a user who may nothing: PostgreSQL refuses to run as root.
type host struct {
	dir        string
	credential *syscall.Credential
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "tenon-sql-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &host{dir: dir}
	if os.Getuid() != 0 {
		return h
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		absent(t, "there is no user nobody to run a database as")
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	h.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = h.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: h.credential, Setpgid: true}
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "LC_ALL=C"}
	return c
}

// setUp runs a program to its end.
func (h *host) setUp(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := h.command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// A service is a program that runs until the test ends, however it ends: a
// shell waits for its standard input to close and then sends it a signal.
type service struct {
	cmd  *exec.Cmd
	stop func()
}

func (h *host) start(t *testing.T, address, signal, name string, args ...string) *service {
	t.Helper()
	log := filepath.Join(h.dir, "log")
	script := `"$@" >>` + log + ` 2>&1 & pid=$!; read _; kill -` + signal + ` $pid; wait $pid`
	c := h.command("/bin/sh", append([]string{"-c", script, "sh", name}, args...)...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &service{cmd: c}
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			in.Close()
			_ = c.Wait() // its status is that of a program that was killed
		}
	}
	t.Cleanup(s.stop)
	waitFor(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, func() string { b, _ := os.ReadFile(log); return name + " does not come up:\n" + string(b) })
	return s
}

// freePort is a port for a database, which is set up first and is down at times.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.ForTest(t))
	return port
}

// waitFor polls for something that another process does.
func waitFor(t *testing.T, done func() bool, why func() string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(why())
		}
	}
}
