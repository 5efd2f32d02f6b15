//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that cannot be started is an error in plain words, and tap leaves no
// empty recording.
func TestProgramsThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	missing, file := filepath.Join(dir, "server"), filepath.Join(dir, "traffic.txtar")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"tools", "--", missing}, exitConnection, "no such file"},
		{[]string{"tools", "--", "no-such-program --stdio"}, exitConnection, "no such program in PATH; give its arguments separately"},
		{[]string{"doctor", "--", missing}, exitTool, "no such file"},
		{[]string{"tap", "-o", file, "--", missing}, exitConnection, "cannot start " + missing + ": no such file"},
	} {
		code, out, errs := tenon(t, test.args...)
		if text := out + errs; code != test.code || !strings.Contains(text, test.want) || strings.Contains(text, "fork/exec") {
			t.Errorf("%v: exit code %d: %s; want %q", test.args, code, text, test.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("tap left %v, %v", left, err)
	}
}
