package inspect

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

// The test binary is also the server that taps are put before.
func TestMain(m *testing.M) {
	if mode := os.Getenv("INSPECT_TEST_CHILD"); mode != "" {
		os.Exit(child(mode))
	}
	leaktest.Main(m)
}

// talk makes messages of lines: "> …" goes to the server, "< …" comes from it.
// META stands for the envelope of the newest revision, HELLO(revision) for a
// whole handshake.
func talk(t *testing.T, text string) (ms []Message) {
	t.Helper()
	for line := range strings.Lines(expand(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		way, frame, ok := strings.Cut(line, " ")
		if !ok || way != ">" && way != "<" {
			t.Fatalf("a line begins with > or <: %s", line)
		}
		m := Message{Dir: ToServer, Frame: []byte(frame)}
		if way == "<" {
			m.Dir = FromServer
		}
		ms = append(ms, m)
	}
	return ms
}

const fullMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func expand(text string) string {
	for _, r := range mcp.Revisions() {
		text = strings.ReplaceAll(text, "HELLO("+string(r)+")", hello(string(r)))
	}
	return strings.ReplaceAll(text, "META", fullMeta)
}

func hello(revision string) string {
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%[1]q,"capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":"init","result":{"protocolVersion":%[1]q,"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
`, revision)
}

func rulesOf(m Message) (all []string) {
	for _, p := range m.Problems {
		all = append(all, p.Rule)
	}
	return all
}
