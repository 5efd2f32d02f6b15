package wirelog

import (
	"testing"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/talktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

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

func rulesOf(m speccheck.Message) (all []string) {
	for _, p := range m.Problems {
		all = append(all, p.Rule)
	}
	return all
}
