// Package needtest decides what happens to a test that needs something that
// this machine lacks, such as a program. It is imported by tests only.
package needtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Missing skips a test because something is missing, or fails it if MUST_RUN=1
// is in the environment, as make test sets it. Use [testing.T.Skip] only for
// what a whole operating system lacks.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("MUST_RUN") == "1" {
		t.Fatal(what + " (MUST_RUN=1: no test may be skipped)")
	}
	t.Skip(what)
}

// Program returns the path of the first of the programs that is installed. If
// none is, it calls [Missing].
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, strings.Join(names, " and ")+" cannot be found: install it")
	return ""
}
