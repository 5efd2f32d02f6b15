package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// The demonstration kills replicas and loses no call of a modern client, and
// leaves neither processes nor files when it is interrupted.
func TestDemo(t *testing.T) {
	needtest.Program(t, "nginx")
	needtest.Program(t, "redis-server")
	tenon, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "cluster")
	if out, err := exec.Command("go", "build", "-o", program, "../../deploy/cluster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	screen := &replica{} // for what it prints
	cmd := exec.Command(program, "-tenon", tenon, "-kill", "1s")
	cmd.Stdout, cmd.Stderr = screen, screen
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	row := regexp.MustCompile(`2026-07-28 +(\d+) +\d+ +\d+ +\d+ +(\d+) `)
	killed := regexp.MustCompile(`replica 2 .* [1-9]\d*\n`)
	for begin := time.Now(); !killed.MatchString(screen.log()); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > 3*hangs {
			t.Fatalf("no replica is killed:\n%s", screen.log())
		}
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, screen.log())
	}
	rows := row.FindAllStringSubmatch(screen.log(), -1)
	if last := rows[len(rows)-1]; last[1] == "0" || last[2] != "0" {
		t.Errorf("of modern calls, %s succeeded and %s were lost", last[1], last[2])
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tenon-cluster*")); len(left) > 0 {
		t.Errorf("files are left: %s", left)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range processes {
		env, _ := os.ReadFile(name)
		if bytes.Contains(env, []byte("TMPDIR="+dir+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			t.Errorf("a process is left: %s", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
}
