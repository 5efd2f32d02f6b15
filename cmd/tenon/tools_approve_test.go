package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// H26: after a change, run denies what a rule of the configuration allowed, and
// says what to do; --allow warns and goes on, each time; tools approve takes the
// change, and tools forget takes everything back.
func TestToolsApproveAndForget(t *testing.T) {
	dir, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	configure := func(root string) {
		t.Helper()
		text := fmt.Sprintf(`{"mcpServers":{"files":{"builtin":"fs?root=%s"}},"permissions":[{"effect":"allow","server":"files"}]}`, filepath.ToSlash(root))
		if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(want int, says string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"--config-dir", dir}, args...), strings.NewReader(""), &out, &errs)
		if code != want || !strings.Contains(errs.String(), says) {
			t.Errorf("%q: exit code %d, not %d with %q\n%s\n%s", args, code, want, says, &out, &errs)
		}
	}
	list := func(want int, says string, more ...string) {
		t.Helper()
		model := said(t, `{"expect":{"has":"list"}}`, `{"call":{"name":"files__list_allowed_directories","arguments":{}}}`, `{"expect":{"role":"tool"}}`, `{"text":"done"}`)
		do(want, says, append([]string{"run", "-p", "list", model}, more...)...)
	}
	configure(one)
	list(exitOK, "")
	configure(two)
	list(exitDenied, "files/list_allowed_directories has changed since it was approved (server option root). Use --allow files/list_allowed_directories, or approve it: tenon tools approve files list_allowed_directories")
	list(exitOK, "It runs because --allow allows it", "--allow", "files")
	list(exitOK, "It runs because --allow allows it", "--allow", "files")
	list(exitDenied, "has changed since it was approved")
	do(exitUsage, "or add --yes", "tools", "approve", "files")
	list(exitDenied, "has changed since it was approved")
	do(exitOK, "server option root has changed", "tools", "approve", "files", "--yes")
	list(exitOK, "")
	do(exitOK, "No tool of files has changed", "tools", "approve", "files")
	configure(one)
	list(exitDenied, "has changed since it was approved")
	do(exitUsage, `no decision about the tool "list_allowed_directory" of files: did you mean list_allowed_directories?`, "tools", "forget", "files", "list_allowed_directory")
	list(exitDenied, "has changed since it was approved")
	do(exitOK, "Your decision about files/list_allowed_directories is forgotten.", "tools", "forget", "files", "list_allowed_directories")
	do(exitOK, "You have made no decisions about the tools of files.", "tools", "forget", "files")
	list(exitOK, "")
	do(exitOK, "Your decisions about all tools of files are forgotten.", "tools", "forget", "files")
	list(exitOK, "")
}
