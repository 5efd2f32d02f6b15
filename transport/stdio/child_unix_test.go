//go:build unix

package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	modes["descriptors"] = playDescriptors
	modes["host"] = func() { playHost("parent") }
	modes["host without guard"] = func() { guardShell = "/no/such/shell"; playHost("stubborn") }
	modes["daemon"] = playDaemon
	modes["parent"] = func() { playParent(); _, _ = io.Copy(io.Discard, os.Stdin) }
	modes["deserter"] = func() { playParent(); os.Exit(4) }
	modes["grandchild"] = playGrandchild
}

// strayOutsideGo writes to descriptor 1 as C code would, and lets a program
// that inherits it write to it.
func strayOutsideGo() {
	if _, err := syscall.Write(1, []byte("stray write\n")); err != nil {
		panic(err)
	}
	cmd := exec.Command("echo", "stray program")
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		panic(err)
	}
}

// playDescriptors tells which descriptors it was given: those that are open
// and not closed on exec. The runtime's own are.
func playDescriptors() {
	var open []uintptr
	for fd := range uintptr(1024) {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			open = append(open, fd)
		}
	}
	fmt.Println(open, "group", syscall.Getpgrp())
}

// playParent starts a grandchild that holds all three pipes, and prints both
// process ids once it is ready.
func playParent() {
	ready, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), modeVar+"=grandchild")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	w.Close()
	if _, err := io.ReadAll(ready); err != nil {
		panic(err)
	}
	fmt.Println(os.Getpid(), cmd.Process.Pid)
}

// playGrandchild closes descriptor 3 when it has become stubborn.
func playGrandchild() {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	syscall.Close(3)
	forever()
}

// playHost is a host that starts a server, passes on its first line, and
// hangs.
func playHost(server string) {
	c := Command{Path: os.Args[0], Env: map[string]string{modeVar: server, "GORACE": os.Getenv("GORACE")}}
	child, err := c.Start()
	if err != nil {
		panic(err)
	}
	frame, err := child.Stream().Read()
	if err != nil {
		panic(err)
	}
	fmt.Println(string(frame), child.Pid(), child.group.id)
	forever()
}

// playDaemon leaves the process group and holds on to its pipes.
func playDaemon() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), modeVar+"=stubborn")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
}

// alive reports whether a process exists and has not ended.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	// On Linux an ended process that its new parent has not waited for shows.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !strings.HasPrefix(string(after), " Z")
}

// running reports whether a process exists, as one that has ended and was not
// waited for does.
func running(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// gone waits until a process has ended.
func gone(t *testing.T, what string, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatalf("%s has no process id", what)
	}
	eventually(t, what+" to be gone", func() bool { return !alive(pid) })
}

// Hostile row C56: the server ignores EOF and SIGTERM.
func TestStubbornServerIsKilled(t *testing.T) {
	child := start(t, mode(t, "stubborn"))
	line(t, child)
	var exit *ExitError
	if err := child.Close(); !errors.As(err, &exit) {
		t.Fatalf("Close: %v", err)
	}
	if exit.Signal != syscall.SIGKILL || exit.Code != -1 || !exit.Forced {
		t.Errorf("got %+v", exit)
	}
	contains(t, exit.Error(), `did not end when its input was closed and was ended by signal "killed"`)
	gone(t, "the server", child.Pid())
	gone(t, "the guard", child.group.guard.Process.Pid)
}

func TestPoliteServerIsTerminated(t *testing.T) {
	c := mode(t, "polite")
	c.Grace = 5 * time.Second // it has to pass once, and to be enough for a polite end
	child := start(t, c)
	line(t, child)
	var exit *ExitError
	if err := child.Close(); !errors.As(err, &exit) {
		t.Fatalf("Close: %v", err)
	}
	if exit.Signal != nil || exit.Code != 0 || !exit.Forced {
		t.Errorf("got %+v", exit)
	}
	contains(t, exit.Stderr, "terminating")
}

func TestGrandchildrenEndToo(t *testing.T) {
	for _, m := range []string{"parent", "deserter"} {
		t.Run(m, func(t *testing.T) {
			child := start(t, mode(t, m))
			var parent, grandchild int
			if _, err := fmt.Sscan(line(t, child), &parent, &grandchild); err != nil {
				t.Fatal(err)
			}
			if m == "deserter" {
				within(t, child.Done(), "the end of the server")
			}
			_ = child.Close()
			gone(t, "the server", parent)
			gone(t, "the grandchild", grandchild)
		})
	}
}

// A process that left the group lives on, but holds up nobody.
func TestDaemonHoldsPipes(t *testing.T) {
	child := start(t, mode(t, "daemon"))
	var pid int
	said := line(t, child)
	if said == "ready" { // the daemon writes to the same pipe, and may be first
		said = line(t, child)
	}
	if _, err := fmt.Sscan(said, &pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	within(t, child.Done(), "the end of the server")
	for {
		if _, err := child.Stream().Read(); err != nil {
			break
		}
	}
	_ = child.Close()
	if !alive(pid) {
		t.Error("the daemon is gone; the test shows nothing")
	}
}

// L19: starting a server leaves the descriptors of this process as they are.
func TestStartChangesNoDescriptor(t *testing.T) {
	own, err := syscall.Dup(2) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(own)
	child := start(t, mode(t, "descriptors"))
	list, _, _ := strings.Cut(strings.TrimPrefix(line(t, child), "["), "]")
	if !slices.Contains(strings.Fields(list), strconv.Itoa(own)) {
		t.Errorf("the server has %s, and not %d", list, own)
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(own), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC != 0 {
		t.Errorf("the descriptor was marked close-on-exec (%v)", errno)
	}
}

// Hostile row O08: the server of a program that has called CloseOnExec has
// descriptors 0, 1 and 2 only.
func TestDescriptorsOfChild(t *testing.T) {
	// One that a careless library opened without close-on-exec.
	leaky, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaky)
	CloseOnExec()
	child := start(t, mode(t, "descriptors"))
	var group int
	got := line(t, child)
	if _, err := fmt.Sscanf(got, "[0 1 2] group %d", &group); err != nil {
		t.Errorf("the server has: %s", got)
	}
	if group == syscall.Getpgrp() {
		t.Error("the server is in the process group of the host")
	}
}

// Hostile row C58: the host is killed with SIGKILL. The server here ignores
// everything but SIGKILL, and so does what it started.
func TestHostIsKilled(t *testing.T) {
	tests := []struct {
		mode string
		pids int // in the line that the server prints
	}{
		{"host", 2},
		{"host without guard", 0},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			if tt.pids == 0 && runtime.GOOS != "linux" {
				t.Skip("only Linux kills a child with its parent")
			}
			c := mode(t, tt.mode)
			cmd := exec.Command(c.Path)
			cmd.Env = append(os.Environ(), modeVar+"="+tt.mode)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var server, parent, grandchild, group int
			if tt.pids == 2 {
				_, err = fmt.Fscan(out, &parent, &grandchild, &server, &group)
			} else {
				_, err = fmt.Fscanf(out, "ready %d %d", &server, &group)
			}
			if err != nil {
				t.Error(err)
			}
			if !alive(server) || !alive(group) {
				t.Error("the server is gone before the host is")
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			gone(t, "the server", server)
			gone(t, "the leader of the group", group)
			if tt.pids == 2 {
				gone(t, "the grandchild", grandchild)
			}
		})
	}
}

// Without a shell for the guard, everything but the guard works.
func TestWithoutGuard(t *testing.T) {
	old := guardShell
	guardShell = "/no/such/shell"
	defer func() { guardShell = old }()
	child := start(t, mode(t, "parent"))
	var parent, grandchild int
	if _, err := fmt.Sscan(line(t, child), &parent, &grandchild); err != nil {
		t.Fatal(err)
	}
	if err := child.Close(); err != nil {
		t.Logf("Close: %v", err)
	}
	gone(t, "the server", parent)
	gone(t, "the grandchild", grandchild)
}

// A file that cannot be started is an error that says why, without the words of the
// system.
func TestStartFailsInPlainWords(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"text": "hello\n", "script": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "script"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"./text":   `start server "./text": it is not executable`,
		"./script": `start server "./script": the file is there, but not the interpreter that its first line names`,
		"./none":   `start server "./none": no such file`,
	} {
		if _, err := (&Command{Path: path, Dir: dir}).Start(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: the error has lost its cause", path)
		}
	}
}
