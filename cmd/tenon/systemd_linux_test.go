package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// TestSystemdUnit has systemd check the unit that we ship.
func TestSystemdUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		needtest.Missing(t, "systemd-analyze is not installed (Debian: systemd)")
	}
	unit, err := os.ReadFile(filepath.Join("..", "..", "deploy", "tenon-gateway.service"))
	if err != nil {
		t.Fatal(err)
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const program = "ExecStart=/usr/local/bin/tenon "
	if !strings.Contains(string(unit), program) {
		t.Fatalf("there is no %q", program)
	}
	file := filepath.Join(t.TempDir(), "tenon-gateway.service")
	if err := os.WriteFile(file, []byte(strings.Replace(string(unit), program, "ExecStart="+me+" ", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), "tenon-gateway.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// The flags of the unit are those of the program.
	line, _, _ := strings.Cut(string(unit)[strings.Index(string(unit), program)+len(program):], "\n")
	args := append(strings.Fields(line), "--addr", "0.0.0.0:0", "-s", "builtin:calc") // ends at once: it needs authorization
	if code, _, errs := tenon(t, args...); code != exitUsage || !strings.Contains(errs, "require authorization") {
		t.Errorf("%s: %d %s", line, code, errs)
	}
}
