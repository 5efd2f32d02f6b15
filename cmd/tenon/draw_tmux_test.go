//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// Ctrl-Z gives the terminal back to the shell with its own screen, fg draws the
// conversation again, Ctrl-L too, and at the end the terminal is as it was.
func TestTerminalIsGivenBack(t *testing.T) {
	needtest.Program(t, "bash") // it has job control
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + t.TempDir(), "HOME=" + dir, "OWN=" + own}
	write(t, filepath.Join(dir, "rc"), "PS1='shell> '\n")
	v := openTerminal(t, dir, env, "bash", "--noprofile", "--rcfile", filepath.Join(dir, "rc"), "-i")
	v.until("shell>")
	v.types(`"$OWN" chat --model none --server builtin:calc`)
	v.keys("Enter")
	v.until("1 server", "/help")
	v.types("kept")
	v.until("> kept")
	v.keys("C-z")
	v.untilWithout("/help", "Stopped", "shell>")
	v.types("echo $((40 + 2)) here; fg")
	v.keys("Enter")
	shown := v.untilWithout("shell>", "> kept", "/help", "1 server")
	v.keys("C-l")
	v.types(" too")
	if again := v.until("> kept too"); strings.ReplaceAll(again, "kept too", "kept") != shown {
		t.Errorf("Ctrl-L leaves\n%s\nof\n%s", again, shown)
	}
	v.keys("C-c")
	v.keys("C-c")
	v.untilWithout("/help", "42 here")
	if mode := v.tmux("display-message", "-p", "-t", "t", "#{alternate_on} #{cursor_flag} #{wrap_flag} #{bracket_paste_flag}#{scroll_region_upper}-#{scroll_region_lower}"); !strings.HasPrefix(mode, "0 1 1 ") {
		t.Errorf("the terminal is left as %s", mode)
	}
	v.types("exit")
	v.keys("Enter")
	v.until("left with")
}
