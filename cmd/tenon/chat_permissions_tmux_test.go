//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In a real terminal, a question about an edit shows the difference in colours, a
// file that changes meanwhile is asked about again, and /permissions shows where
// each rule is from and removes one.
func TestDiffAndPermissionsInATerminal(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "plan.txt")
	put := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(file, "one\ntwo\nthree\n")
	put(filepath.Join(config, "tenon.json"), `{"mcpServers":{"files":{"builtin":"fs?root=`+filepath.ToSlash(dir)+`&ask=never"}},"permissions":[{"effect":"deny","server":"files","tool":"delete_file"}]}`)
	model := scripted(t, `{"expect":{"role":"user"}}`, `{"call":{"name":"files__edit_file","arguments":{"path":"plan.txt","edits":[{"oldText":"two","newText":"2"}]}}}`, `{"done":""}`,
		`{"expect":{"role":"tool"}}`, `{"text":"Edited."}`, `{"done":""}`)
	v := openTerminal(t, dir, []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + config, "HOME=" + dir, "COLORTERM=truecolor"}, own, "chat", "--model", model, "--allow", "files/list_allowed_directories")
	v.until("1 server")
	v.types("edit it")
	v.keys("Enter")
	v.until("Allow files/edit_file?", "-two", "+2", " one", " three", "1 line added")
	if styled := v.tmux("capture-pane", "-e", "-p", "-t", "t"); !strings.Contains(styled, "m-two") || !strings.Contains(styled, "m+2") {
		t.Errorf("the difference has no colours:\n%q", styled)
	}
	put(file, "zero\none\ntwo\nthree\n")
	v.answer("Allow once", "Allow files/edit_file?")
	v.until("The file has changed since you allowed", " zero", "-two")
	v.answer("Allow for this session", "The file has changed since you allowed")
	v.until("Edited.", "── /help")
	if got, _ := os.ReadFile(file); string(got) != "zero\none\n2\nthree\n" {
		t.Errorf("the file is %q", got)
	}
	v.types("/permissions")
	v.keys("Enter")
	v.until("── Permissions", "command line: allow files/list_allowed_directories", "session: allow files/edit_file", "user: deny files/delete_file", "default: ask about all tools", "start the program without the flag")
	v.keys("Down")
	v.until("▶session: allow files/edit_file", "your answer")
	v.keys("x")
	v.until("Press x again to remove")
	v.keys("x")
	v.until("Removed: session: allow files/edit_file")
	v.keys("d", "a")
	v.until("Press a again to change to allow: user: deny files/delete_file")
	v.keys("a")
	v.until("Now: user: allow files/delete_file", "▶user: allow files/delete_file", "tenon.json:1")
	if got, _ := os.ReadFile(filepath.Join(config, "tenon.json")); !strings.Contains(string(got), `{"effect":"allow","server":"files","tool":"delete_file"}`) {
		t.Errorf("tenon.json is %s", got)
	}
	v.keys("Escape")
	v.until("── /help")
}
