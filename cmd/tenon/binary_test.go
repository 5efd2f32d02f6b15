package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hangs is a guard against commands that never end; no test asserts on it.
const hangs = 2 * time.Minute

// binary is the real program as a process of its own, which a person would
// start. It gets a configuration folder of its own.
func binary(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	home := t.TempDir()
	cmd.Dir = home
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(name, "TENON_") && !strings.HasPrefix(name, "XDG_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "TENON_TEST_MAIN=1", "TENON_CONFIG_DIR="+filepath.Join(home, "config"), "HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"))
	return cmd
}

// output runs the program to its end and returns its exit code and what it
// wrote.
func output(t *testing.T, cmd *exec.Cmd) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(hangs, func() { cmd.Process.Kill() })
	defer guard.Stop()
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// set sets a variable for a process.
func set(cmd *exec.Cmd, name, value string) { cmd.Env = append(cmd.Env, name+"="+value) }

// script writes an executable shell script and returns its path.
func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually waits for something that another process does.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(hangs); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happens")
		}
	}
}

// contains reports the texts that are missing in what a command wrote.
func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}
