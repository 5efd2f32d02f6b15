package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestRecovering(t *testing.T) {
	bang := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { panic("secret") })
	var told any
	var stack []byte
	h := mcp.Chain(bang, protocol.Recover(func(_ *mcp.Call, p any, s []byte) { told, stack = p, s }))
	_, err := h.Serve(t.Context(), &mcp.Call{Method: "m"})
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeInternal || strings.Contains(e.Message, "secret") {
		t.Errorf("the caller sees %v", err)
	}
	if told != "secret" || len(stack) == 0 {
		t.Errorf("the report has %v and %d bytes of stack", told, len(stack))
	}
	if _, err := protocol.Recover(nil)(bang).Serve(t.Context(), &mcp.Call{}); err == nil {
		t.Error("no error without a report")
	}
}

func TestCompletions(t *testing.T) {
	all := make([]string, 250)
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	for _, n := range []int{0, 1, 100, 101, 250} {
		c := protocol.Completions(all[:n])
		if len(c.Values) != min(n, 100) || *c.Total != int64(n) || c.HasMore != (n > 100) {
			t.Errorf("of %d: %d values, total %d, more %v", n, len(c.Values), *c.Total, c.HasMore)
		}
	}
}

// A server that lists something wrong must not hide what is right.
func TestDecodeEach(t *testing.T) {
	good, bad := protocol.DecodeEach[mcp.Tool](json.RawMessage(`[null,{"name":"t","inputSchema":null},{"name":"ok","inputSchema":{"type":"object"}},5]`))
	if len(good) != 1 || good[0].Name != "ok" {
		t.Errorf("good: %+v", good)
	}
	want := []string{
		`[0]: expected a value, found null`,
		`[1]: inputSchema: expected an object, such as {"type":"object"}`,
		`[3]: expected an object, found a number`,
	}
	if len(bad) != len(want) {
		t.Fatalf("bad: %v", bad)
	}
	for i := range want {
		if bad[i].Error() != want[i] {
			t.Errorf("got %v, want %s", bad[i], want[i])
		}
	}
}

func TestValidToolName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "get_user.v2-X": true, strings.Repeat("a", 128): true,
		"": false, strings.Repeat("a", 129): false, "a b": false, "a/b": false, "é": false, "a\x00": false,
	} {
		if got := protocol.ValidToolName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestDiscovered(t *testing.T) {
	d, err := protocol.DecodeDiscovery(mcp.Result{
		Body:   json.RawMessage(`{"capabilities":{"tools":{}},"instructions":"i"}`),
		Server: &mcp.Implementation{Name: "s"},
	})
	if err != nil || d.Capabilities.Tools == nil || d.Instructions != "i" || d.Server.Name != "s" {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := protocol.DecodeDiscovery(mcp.Result{Body: json.RawMessage(`{"capabilities":[]}`)}); err == nil || err.Error() != "result of server/discover: capabilities: expected an object, found an array" {
		t.Errorf("got %v", err)
	}
}

func TestMetaKeys(t *testing.T) {
	tests := []struct {
		key             string
		valid, reserved bool
	}{
		{"a", true, false},
		{"a-b_c.d", true, false},
		{"com.example/a", true, false},
		{"com.example/", true, false},
		{"com.exa-mple2.x/a", true, false},
		{"", false, false},
		{"-a", false, false},
		{"a_", false, false},
		{"a b", false, false},
		{"é", false, false},
		{"/a", false, false},
		{"com..x/a", false, false},
		{"1com/a", false, false},
		{"com-/a", false, false},
		{"com_x/a", false, false},
		{"a/b/c", false, false},
		{"io.modelcontextprotocol/x", true, true},
		{"dev.mcp/x", true, true},
		{"org.modelcontextprotocol.api/x", true, true},
		{"com.mcp.tools/", true, true},
		{"com.example.mcp/x", true, false},
		{"mcp/x", true, false},
		{"progressToken", true, true},
		{"traceparent", true, true},
		{"tracestate", true, true},
		{"baggage", true, true},
		{mcp.MetaServerInfo, true, true},
	}
	for _, tt := range tests {
		if got := protocol.ValidMetaKey(tt.key); got != tt.valid {
			t.Errorf("%q valid: %v", tt.key, got)
		}
		if got := protocol.ReservedMetaKey(tt.key); got != tt.reserved {
			t.Errorf("%q reserved: %v", tt.key, got)
		}
	}
}

func TestMethodRules(t *testing.T) {
	for m, want := range map[string]bool{mcp.MethodToolsCall: false, mcp.MethodToolsList: true, mcp.MethodPing: false, "skills/list": true, protocol.MethodRevision: false} {
		if got := protocol.MayCache(m); got != want {
			t.Errorf("%s may be cached: %v", m, got)
		}
	}
	for m, want := range map[string][2]bool{
		mcp.MethodToolsCall: {true, false}, mcp.MethodResourcesRead: {true, true}, mcp.MethodToolsList: {false, true}, mcp.MethodComplete: {false, false},
	} {
		if got := [2]bool{protocol.MayRequireInput(m), protocol.Cacheable(m)}; got != want {
			t.Errorf("%s: may ask and is cacheable: %v", m, got)
		}
	}
}
