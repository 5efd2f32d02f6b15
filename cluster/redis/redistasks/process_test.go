package redistasks_test

import (
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

func TestKilledServersLoseNothing(t *testing.T) {
	tasktest.Kills{Target: redistest.Start(t, nil).URL, Servers: 3, Lease: time.Second}.Run(t)
}
