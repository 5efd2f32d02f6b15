//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An entry that leads back to the gateway through a script does not start gateways
// without end.
func TestGatewaysDoNotStartEachOtherWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "depth")
	configured(t, dir, `{"mcpServers":{"back":{"command":"sh","args":["-c","echo $TENON_GATEWAY_PATH >>`+file+`; exec sleep 60"]}}}`)
	servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	eventually(t, func() bool {
		text, _ := os.ReadFile(file)
		return len(strings.Fields(string(text))) > 0 && !strings.Contains(string(text), ",")
	})
	t.Setenv(pathVariable, "a,b,c,d")
	code, _, errs := tenon(t, "gateway", "--config-dir", dir, "--stdio")
	if code != exitUsage || !strings.Contains(errs, "leads back") {
		t.Errorf("behind four gateways: %d %s", code, errs)
	}
}
