package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// auditedGateway starts a gateway with an audit log in a folder of its own, in a
// shell that runs a command first.
func auditedGateway(t *testing.T, before string) (p *gatewayProcess, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(t.TempDir(), "audit.jsonl")
	configured(t, dir, fmt.Sprintf(`{"mcpServers":{"calc":{"builtin":"calc"}},"gateway":{"audit":{"file":%q}}}`, file))
	if before == "" {
		return startGateway(t, "", "--config-dir", dir, "--project", t.TempDir()), file
	}
	cmd := binary(t, "gateway", "--addr", "127.0.0.1:0", "--config-dir", dir, "--project", t.TempDir())
	sh := needtest.Program(t, "bash") // limits the size of files
	cmd.Path, cmd.Args = sh, append([]string{sh, "-c", before + `; exec "$0" "$@"`}, cmd.Args...)
	return startProcess(t, cmd), file
}

// adds reports whether a call of the gateway succeeds.
func (p *gatewayProcess) adds(t *testing.T) bool {
	t.Helper()
	code, _, _ := output(t, binary(t, "call", p.url, "calc__add", "a=2", "b=3"))
	return code == 0
}

// lines returns a file, or nothing if there is none.
func lines(file string) string {
	data, _ := os.ReadFile(file)
	return string(data)
}

// logrotateExample returns the configuration of logrotate in the documentation.
func logrotateExample(t *testing.T) string {
	t.Helper()
	_, after, _ := strings.Cut(lines(filepath.FromSlash("../../docs/gateway.md")), "```logrotate\n")
	example, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("the documentation has no example for logrotate")
	}
	return example
}

// TestGatewayAuditRotation rotates the audit log as logrotate does with the example
// of the documentation, and with copytruncate: calls go on, and all files can be
// verified.
func TestGatewayAuditRotation(t *testing.T) {
	p, file := auditedGateway(t, "")
	if !p.adds(t) {
		t.Fatal(p.errs)
	}
	eventually(t, func() bool { return strings.Count(lines(file), "\n") == 1 })
	example := logrotateExample(t)
	for _, want := range []string{"nocreate", "delaycompress", "postrotate", "systemctl reload tenon-gateway"} {
		if !strings.Contains(example, want) {
			t.Errorf("the example lacks %q: %s", want, example)
		}
	}
	old := file + ".1"
	if program, err := exec.LookPath("logrotate"); err == nil {
		example = strings.Replace(example, "/var/log/tenon/audit.jsonl", file, 1)
		example = strings.Replace(example, "systemctl reload tenon-gateway", fmt.Sprint("kill -HUP ", p.cmd.Process.Pid), 1)
		conf := filepath.Join(t.TempDir(), "tenon.conf")
		if err := os.WriteFile(conf, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(program, "-f", "-s", conf+".state", conf).CombinedOutput(); err != nil {
			t.Fatalf("logrotate: %v %s", err, out)
		}
	} else {
		if err := os.Rename(file, old); err != nil {
			t.Fatal(err)
		}
		p.cmd.Process.Signal(syscall.SIGHUP)
	}
	eventually(t, func() bool { return strings.Contains(lines(old), `"what":"moved"`) })
	for range 2 {
		if !p.adds(t) {
			t.Fatalf("after the rotation: %s", p.errs)
		}
	}
	eventually(t, func() bool { return strings.Count(lines(file), "tools/call") == 2 })
	for _, name := range []string{old, file} {
		if code, out, errs := output(t, binary(t, "audit", "verify", name)); code != 0 {
			t.Errorf("verify %s: %d %s %s", name, code, out, errs)
		}
	}
	if err := os.WriteFile(file+".2", []byte(lines(file)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	if !p.adds(t) {
		t.Fatalf("after copytruncate: %s", p.errs)
	}
	eventually(t, func() bool { return strings.Count(lines(file), "tools/call") == 1 })
	if code, out, errs := output(t, binary(t, "audit", "verify", file)); code != 0 || !strings.Contains(out+errs, "goes on from another file") {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
	if code, body := get(t, strings.TrimSuffix(p.url, "/mcp")+"/readyz", ""); code != 200 {
		t.Errorf("readiness: %d %s", code, body)
	}
}

// TestGatewayWithAFullDisk refuses calls while the audit log cannot grow, is not
// ready meanwhile, keeps the log valid, and goes on when there is room. A limit for
// the size of files stands for the disk.
func TestGatewayWithAFullDisk(t *testing.T) {
	p, file := auditedGateway(t, "trap '' XFSZ; ulimit -f 32")
	at := strings.TrimSuffix(p.url, "/mcp")
	full := func() bool { code, _ := get(t, at+"/readyz", ""); return code == 503 }
	if !p.adds(t) {
		t.Fatal(p.errs)
	}
	for n := 0; !full(); n++ {
		if n > 200 {
			t.Fatalf("%d calls later the disk is not full: %s", n, lines(file))
		}
		p.adds(t)
	}
	if _, body := get(t, at+"/readyz", ""); !strings.Contains(body, "audit log") {
		t.Errorf("readiness: %s", body)
	}
	if code, _, errs := output(t, binary(t, "call", p.url, "calc__add", "a=2", "b=3")); code == 0 || !strings.Contains(errs, "the audit log cannot be written") {
		t.Errorf("a call without a record: %d %s", code, errs)
	}
	if !strings.Contains(p.errs.String(), "the audit log cannot be written") {
		t.Errorf("the log: %s", p.errs)
	}
	if code, out, errs := output(t, binary(t, "audit", "verify", file)); code != 0 {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
	if err := os.Rename(file, file+".1"); err != nil { // there is room
		t.Fatal(err)
	}
	eventually(t, func() bool { return !full() })
	if !p.adds(t) {
		t.Errorf("with room: %s", p.errs)
	}
	eventually(t, func() bool { return strings.Contains(lines(file), "tools/call") })
	if code, out, errs := output(t, binary(t, "audit", "verify", file)); code != 0 {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
