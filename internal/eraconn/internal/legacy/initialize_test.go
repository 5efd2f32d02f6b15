package legacy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// The handshake is read and written from its parts. It has to say and to refuse
// the same, in the same words, as if it were read and written as a whole.
func TestHandshakeFromItsParts(t *testing.T) {
	for _, raw := range []string{
		``, `null`, `[]`, `{}`, `{"protocolVersion":1}`, `{"protocolVersion":null,"clientInfo":null,"capabilities":null}`,
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"},"_meta":{"a":1}}`,
		`{"protocolVersion":"x","capabilities":{"tasks":{"a":1},"roots":{"listChanged":true}},"clientInfo":{"name":"n","icons":[{"src":"s"}]}}`,
		`{"protocolVersion":"x","capabilities":{"roots":1}}`, `{"capabilities":[]}`, `{"clientInfo":{"name":["x"]}}`, `{"clientInfo":"x"}`,
	} {
		var parts, whole initializeParams
		err, wantErr := parts.decode(json.RawMessage(raw)), mcp.Unmarshal([]byte(raw), &whole)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: error %v, want %v", raw, err, wantErr)
		} else if err == nil && !reflect.DeepEqual(parts, whole) {
			t.Errorf("%s: %+v, want %+v", raw, parts, whole)
		}
	}
	for _, r := range []initializeResult{
		{},
		{ProtocolVersion: "x", ServerInfo: mcp.Implementation{Name: "n"}, Instructions: "\"quoted\"\n"},
		{Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}, Other: map[string]json.RawMessage{"a": json.RawMessage("1")}}},
		{ServerInfo: mcp.Implementation{Name: "\xff"}},
	} {
		parts, err := r.encode()
		whole, wantErr := mcp.Marshal(r)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || string(parts) != string(whole) {
			t.Errorf("%s, %v, want %s, %v", parts, err, whole, wantErr)
		}
	}
}
