package speccheck

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/talktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// talk returns the messages of a conversation: see [talktest.Lines].
func talk(t *testing.T, text string) (ms []Message) {
	t.Helper()
	for _, l := range talktest.Lines(t, text) {
		m := Message{Dir: FromServer, Frame: l.Frame}
		if l.ToServer {
			m.Dir = ToServer
		}
		ms = append(ms, m)
	}
	return ms
}

func rulesOf(m Message) (all []string) {
	for _, p := range m.Problems {
		all = append(all, p.Rule)
	}
	return all
}
