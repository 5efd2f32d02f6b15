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

// Sessions of clients that say the same have one introduction, so that what others
// keep of a caller is kept once; after a restart of the server too.
func TestSessionsShareIntroductions(t *testing.T) {
	open := func(revision mcp.Revision, capabilities, name string) *Session {
		cl := newClient(t, nil, offering(everything, nothing))
		t.Cleanup(cl.session.Close)
		m := cl.request(mcp.MethodInitialize, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":%q,"version":"1"}}`, revision, capabilities, name))
		if m.Error != nil {
			t.Fatal(m.Error)
		}
		return cl.session
	}
	const able = `{"elicitation":{"form":{},"url":{}}}`
	first, second := open(mcp.Rev20251125, able, "c"), open(mcp.Rev20251125, able, "c")
	raw, err := first.State()
	if err != nil {
		t.Fatal(err)
	}
	restored := NewSession(offering(everything, nothing), nil, nil)
	defer restored.Close()
	if err := restored.Restore(t.Context(), raw, nil); err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]*Session{"another session": second, "a restored session": restored} {
		if same.caller.Client != first.caller.Client || same.caller.Capabilities != first.caller.Capabilities {
			t.Errorf("%s keeps an introduction of its own", name)
		}
	}
	for name, other := range map[string]*Session{
		"another name": open(mcp.Rev20251125, able, "d"), "other capabilities": open(mcp.Rev20251125, `{}`, "c"), "an older revision": open(mcp.Rev20250618, able, "c"),
	} {
		if other.caller.Capabilities == first.caller.Capabilities {
			t.Errorf("%s: the introduction is that of another client", name)
		}
	}
}
