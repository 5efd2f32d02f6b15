package taskstore_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/tasktest"
)

func TestKilledServersLoseNothing(t *testing.T) {
	tasktest.Kills{Target: t.TempDir() + "/tasks.db", Servers: 2, Immediate: true}.Run(t)
}
