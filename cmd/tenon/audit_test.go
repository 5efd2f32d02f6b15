package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAuditVerify(t *testing.T) {
	if code, out, errs := tenon(t, "audit", "verify"); code != exitUsage || !strings.Contains(errs, "no audit log") || strings.Contains(out, "broken") {
		t.Errorf("without a log: exit code %d, %q, %q", code, out, errs)
	}
	dir := t.TempDir()
	if code, _, errs := tenon(t, "--config-dir", dir, "run", "-p", "add 2 and 3", "-m", "none", "-s", "builtin:calc", "--allow", "calc"); code != 0 {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	if code, out, _ := tenon(t, "--config-dir", dir, "audit", "verify"); code != 0 || !strings.Contains(out, "is whole: 2 lines") {
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
