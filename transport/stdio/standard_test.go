package stdio

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a tool prints must not reach the protocol's output.
func TestStrayOutput(t *testing.T) {
	c := mode(t, "server")
	c.Grace = patience
	child := start(t, c)
	for _, msg := range []string{"one", "two"} {
		if err := child.Stream().Write([]byte(msg + "\n")); err != nil {
			t.Fatal(err)
		}
		if got := line(t, child); got != msg {
			t.Errorf("got %q, want %q", got, msg)
		}
	}
	child.stdin.Close() // the server ends
	if got := line(t, child); got != "after close" {
		t.Errorf("got %q: standard output was not given back", got)
	}
	_ = child.Close()
	contains(t, child.Stderr(), "stray println\n", "stray early logger\n")
	if strings.Contains(child.Stderr(), "panic") {
		t.Error(child.Stderr())
	}
}

// A server that is told to stop does not wait for input that never comes.
func TestStandardCloseEndsRead(t *testing.T) {
	child := start(t, mode(t, "server wait"))
	for _, want := range []string{"ready", "closed"} {
		if got := line(t, child); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	within(t, child.Done(), "the end of the server, with its input still open")
}

// Standard input may be a file, and standard output may be standard error too.
func TestStandardOfOtherKinds(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := mode(t, "server")
	cmd := exec.Command(c.Path)
	cmd.Env = append(os.Environ(), modeVar+"="+c.Env[modeVar])
	cmd.Stdin = f
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the server: %v", err)
	}
	contains(t, string(out), "one\n", "two\n", "after close\n")
}

func TestStandardOnlyOnce(t *testing.T) {
	standardTaken.Store(true)
	defer standardTaken.Store(false)
	if _, err := Standard(0); err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("second Standard: %v", err)
	}
}
