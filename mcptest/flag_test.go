package mcptest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

// L34: this test program has a flag -update of its own, as many have. It is
// defined after package mcptest is initialized, and must not clash with it.
var ownUpdate = flag.Bool("update", false, "write golden files")

// Both flags have Run write what was seen.
func TestUpdateFlags(t *testing.T) {
	for _, name := range []string{"update", "mcptest.update"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "add.txtar")
			talk := "-- add --\neras 2026-07-28\ncall tools/call {\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}\nresult {\"structuredContent\":{\"sum\":99},…}\n"
			if err := os.WriteFile(file, []byte(talk), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := flag.Set(name, "true"); err != nil {
				t.Fatal(err)
			}
			defer flag.Set(name, "false")
			mcptest.Run(t, file, func(*testing.T) mcp.Handler { return calculator() })
			got, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(got), `"sum":3`) {
				t.Errorf("with -%s the file says %s, %v", name, got, err)
			}
		})
	}
	if *ownUpdate {
		t.Error("-update stays set")
	}
}
