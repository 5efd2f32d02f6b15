package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tools permissions lists the rules of the file and the answers, in every format,
// and removes them by id.
func TestToolsPermissions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tenon.json")
	if err := os.WriteFile(file, []byte(`{"permissions":[{"effect":"allow","server":"calc"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(want int, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"--config-dir", dir}, args...), strings.NewReader(""), &out, &errs); code != want {
			t.Errorf("%q: exit code %d, not %d\n%s\n%s", args, code, want, &out, &errs)
		}
		return out.String(), errs.String()
	}
	text, _ := do(exitOK, "tools", "permissions")
	for _, want := range []string{"SCOPE", "user", "allow", "calc/*", "tenon.json:1", "default", "that nothing above decides"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	type entry struct{ ID, Scope, Effect, Server, Tool, From string }
	var all struct{ Permissions []entry }
	out, _ := do(exitOK, "tools", "permissions", "--format", "json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Permissions) != 2 || all.Permissions[0].Server != "calc" {
		t.Fatalf("%v: %s", err, out)
	}
	lines, _ := do(exitOK, "tools", "permissions", "--format", "jsonl")
	if n := strings.Count(lines, "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, lines)
	}
	if _, errs := do(exitUsage, "tools", "permissions", "remove", all.Permissions[1].ID); !strings.Contains(errs, "cannot be changed here") {
		t.Errorf("the default is removed: %s", errs)
	}
	do(exitUsage, "tools", "permissions", "remove", "nope")
	do(exitUsage, "tools", "permissions", "remove")
	if _, errs := do(exitOK, "tools", "permissions", "remove", all.Permissions[0].ID); !strings.Contains(errs, "allow calc/*") {
		t.Errorf("it says %s", errs)
	}
	if got, _ := os.ReadFile(file); string(got) != `{"permissions":[]}` {
		t.Errorf("the file is %s", got)
	}
}
