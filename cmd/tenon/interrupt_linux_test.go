package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// atTerminal starts the program with the terminal as its own, so that Ctrl-C
// reaches it as it would reach it in a shell.
func atTerminal(t *testing.T, cmd *exec.Cmd, tty *os.File) {
	t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(hangs, func() { cmd.Process.Kill() })
	t.Cleanup(func() { guard.Stop(); cmd.Process.Kill() })
}

// ends waits for the end of the process, which must be that of an interrupt.
func ends(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("%q: exit code %d", cmd.Args[1:], code)
	}
}

// C3: Ctrl-C ends a command that is printing, also while nobody reads.
func TestInterruptEndsPrinting(t *testing.T) {
	url := verbatim(t, strings.Repeat("x", 20<<20))
	for _, args := range [][]string{{"call", url, "say"}, {"read", url, "x://a"}, {"call", url, "say", "--format", "json"}} {
		keys, tty := ptytest.Open(t, 24, 80)
		cmd := binary(t, args...)
		atTerminal(t, cmd, tty)
		b := make([]byte, 100)
		for seen := 0; seen < 1000; { // it prints, and nobody reads on
			n, err := keys.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			seen += n
		}
		keys.WriteString("\x03")
		ends(t, cmd)
		keys.Close()
		tty.Close()
	}
}

// C7: Ctrl-C ends a command that waits for its standard input.
func TestInterruptEndsReading(t *testing.T) {
	for _, args := range [][]string{
		{"run", "-p", "-", "--model", "none"}, {"call", "builtin:calc", "add", "--json", "-"}, {"raw", "builtin:calc", "tools/call", "-"},
	} {
		keys, tty := ptytest.Open(t, 24, 80)
		cmd := binary(t, args...)
		atTerminal(t, cmd, tty)
		keys.WriteString("{\r")
		b := make([]byte, 100)
		if _, err := keys.Read(b); err != nil { // the echo
			t.Fatal(err)
		}
		for !reads(cmd.Process.Pid, tty) {
			time.Sleep(5 * time.Millisecond)
		}
		keys.WriteString("\x03")
		ends(t, cmd)
		keys.Close()
		tty.Close()
	}
}

// reads reports whether what was typed has been taken by the program.
func reads(pid int, tty *os.File) bool {
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	return err != nil || n == 0
}

// C7: Ctrl-C ends a question for a password or an input of the configuration,
// and the terminal shows again what is typed.
func TestInterruptEndsQuestions(t *testing.T) {
	for _, password := range []string{"true", "false"} {
		s := ptytest.New(t)
		cmd := binary(t, "tools", "s", "--yes")
		write(t, cmd.Dir+"/.mcp.json", `{"inputs":[{"id":"key","type":"promptString","password":`+password+`}],
			"mcpServers":{"s":{"command":"true","env":{"KEY":"${input:key}"}}}}`)
		before, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		atTerminal(t, cmd, s.TTY)
		s.Sees("needs a value: key")
		s.Sees("> ")
		s.Press("secret\x03")
		ends(t, cmd)
		after, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
		if err != nil || after.Lflag != before.Lflag {
			t.Errorf("password %s: the terminal's flags are %x, and were %x: %v", password, after.Lflag, before.Lflag, err)
		}
	}
}

// C3: Ctrl-C ends a command whose server does not end, and the server.
func TestInterruptEndsStubbornServers(t *testing.T) {
	s := ptytest.New(t)
	dir := t.TempDir()
	program := script(t, dir, "stubborn", "trap '' TERM INT\necho $$ > "+dir+"/pid\necho started >&2\nwhile true; do sleep 1; done\n")
	cmd := binary(t, "tools", "--", program)
	atTerminal(t, cmd, s.TTY)
	var pid []byte
	for len(pid) == 0 {
		pid, _ = os.ReadFile(dir + "/pid")
		time.Sleep(5 * time.Millisecond)
	}
	s.Press("\x03")
	ends(t, cmd)
	for { // the guard ends it
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// C7: the second Ctrl-C ends a page at once that waits, after the first, for a
// server which does not end.
func TestSecondInterruptEndsThePage(t *testing.T) {
	s := ptytest.New(t)
	dir := t.TempDir()
	program := script(t, dir, "stubborn", "trap '' TERM INT HUP\necho started > "+dir+"/started\nwhile true; do sleep 1; done\n")
	cmd := binary(t, "inspect", "--no-browser", "--model", "none", "--", program)
	atTerminal(t, cmd, s.TTY)
	s.Sees("http://")
	eventually(t, func() bool { _, err := os.Stat(dir + "/started"); return err == nil })
	ended := make(chan struct{})
	go func() { defer close(ended); ends(t, cmd) }()
	for {
		s.Press("\x03") // two that come at once would be one
		select {
		case <-ended:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Point 6 of the issue: printing is linear. Ten times the text takes about ten
// times the processor time, at a terminal of 80 columns.
func TestPrintingALongWordIsLinear(t *testing.T) {
	took := func(size int) time.Duration {
		url := verbatim(t, strings.Repeat("x", size))
		keys, tty := ptytest.Open(t, 24, 80)
		cmd := binary(t, "call", url, "say")
		atTerminal(t, cmd, tty)
		ended := make(chan struct{})
		go func() { io.Copy(io.Discard, keys); close(ended) }()
		cmd.Wait()
		tty.Close()
		<-ended
		keys.Close()
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		return cmd.ProcessState.UserTime()
	}
	small, large := took(2<<20), took(20<<20)
	t.Logf("2 MiB: %v, 20 MiB: %v of processor time", small, large)
	if large > 30*small+time.Second { // quadratic would be 100 times
		t.Errorf("2 MiB take %v, and 20 MiB %v", small, large)
	}
}
