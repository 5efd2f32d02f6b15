package recording

import (
	"os"
	"testing"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/talktest"
)

// The test binary is also the server that taps are put before.
func TestMain(m *testing.M) {
	if mode := os.Getenv("INSPECT_TEST_CHILD"); mode != "" {
		os.Exit(child(mode))
	}
	leaktest.Main(m)
}

// talk returns the messages of a conversation: see [talktest.Lines].
func talk(t *testing.T, text string) (ms []speccheck.Message) {
	t.Helper()
	for _, l := range talktest.Lines(t, text) {
		m := speccheck.Message{Dir: speccheck.FromServer, Frame: l.Frame}
		if l.ToServer {
			m.Dir = speccheck.ToServer
		}
		ms = append(ms, m)
	}
	return ms
}
