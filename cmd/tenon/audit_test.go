package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func TestAuditVerify(t *testing.T) {
	if code, out, errs := tenon(t, "audit", "verify"); code != exitUsage || !strings.Contains(errs, "no audit log") || strings.Contains(out, "broken") {
		t.Errorf("without a log: exit code %d, %q, %q", code, out, errs)
	}
	dir := t.TempDir()
	if code, _, errs := tenon(t, "--config-dir", dir, "run", "-p", "add 2 and 3", "-m", "none", "-s", "builtin:calc", "--allow", "calc"); code != 0 {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	if code, out, _ := tenon(t, "--config-dir", dir, "audit", "verify"); code != 0 || !strings.Contains(out, "is intact: 2 lines") {
		t.Errorf("a good log: exit code %d, %q", code, out)
	}
	file := filepath.Join(dir, "host", "audit.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), `"b":3`, `"b":4`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := tenon(t, "--config-dir", dir, "audit", "verify"); code != exitTool || !strings.Contains(out, "line 1: it was changed") {
		t.Errorf("a changed log: exit code %d, %q", code, out)
	}
}

// H28: the command finds lines that were cut off, and says what to do; signed with
// a key of the keyring, also when the head was made to fit.
func TestAuditVerifyFindsCuts(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	dir := t.TempDir()
	file := filepath.Join(dir, "host", "audit.jsonl")
	call := func() {
		t.Helper()
		if code, _, errs := tenon(t, "--config-dir", dir, "run", "-p", "add 2 and 3", "-m", "none", "-s", "builtin:calc", "--allow", "calc"); code != 0 {
			t.Fatalf("exit code %d, %s", code, errs)
		}
	}
	verify := func(wantCode int, want string) {
		t.Helper()
		if code, out, errs := tenon(t, "--config-dir", dir, "audit", "verify"); code != wantCode || !strings.Contains(out, want) {
			t.Errorf("exit code %d, and not %q: %s%s", code, want, out, errs)
		}
	}
	call()
	verify(0, "The log is not signed")
	if code, _, errs := tenon(t, "audit", "key"); code != 0 || !strings.Contains(errs, "in your keyring") {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	verify(exitTool, "is not signed, though the keyring has the key")
	call()
	verify(0, "Lines 1 to 5 match the signature")
	verify(0, "This does not show whether the log and its head file were replaced by older copies")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(data)), "\n")
	write(t, file, strings.Join(lines[:4], ""))
	verify(exitTool, "the last 1 were cut off")
	if code, _, errs := tenon(t, "--config-dir", dir, "run", "-p", "add 2 and 3", "-m", "none", "-s", "builtin:calc", "--allow", "calc"); code == 0 || !strings.Contains(errs, "tenon audit verify") {
		t.Errorf("it was gone on with: exit code %d, %s", code, errs)
	}
	if err := os.Remove(file + ".head"); err != nil {
		t.Fatal(err)
	}
	verify(exitTool, ".head is missing")
	call()
	verify(0, "Line 5 of ")
}
