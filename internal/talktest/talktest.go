// Package talktest writes MCP conversations as short texts, for tests.
package talktest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Line is one message of a conversation.
type Line struct {
	ToServer bool
	Frame    []byte
}

// Meta is the _meta member of a request of the newest revision.
var Meta = fmt.Sprintf(`"_meta":{%q:%q,%q:{}}`, mcp.MetaProtocolVersion, mcp.Revisions()[0], mcp.MetaClientCapabilities)

// Lines parses a conversation: "> …" is a line to the server, "< …" one from it.
// META is replaced by [Meta], HELLO(revision) by a handshake.
func Lines(t *testing.T, text string) (lines []Line) {
	t.Helper()
	for line := range strings.Lines(expand(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		arrow, frame, ok := strings.Cut(line, " ")
		if !ok || arrow != ">" && arrow != "<" {
			t.Fatalf("a line must begin with > or <: %s", line)
		}
		lines = append(lines, Line{arrow == ">", []byte(frame)})
	}
	return lines
}

func expand(text string) string {
	for _, r := range mcp.Revisions() {
		text = strings.ReplaceAll(text, "HELLO("+string(r)+")", Hello(string(r)))
	}
	return strings.ReplaceAll(text, "META", Meta)
}

// Hello returns the lines of a handshake of a legacy revision.
func Hello(revision string) string {
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%[1]q,"capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":"init","result":{"protocolVersion":%[1]q,"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
`, revision)
}
