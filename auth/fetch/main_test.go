package fetch

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newClient makes a client that is closed when the test ends.
func newClient(t *testing.T, o *Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}
