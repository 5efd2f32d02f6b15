package spectest

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestValidate(t *testing.T) {
	spec := Load(t)
	tests := []struct {
		name   string
		rev    mcp.Revision
		dir    Direction
		frame  string
		method string // of the request, for results
		fault  string // part of the error; empty means valid
	}{
		{"call", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + modernMeta + `}}`, "", ""},
		{"call without meta", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, "", "_meta"},
		{"call without meta, legacy", mcp.Rev20241105, FromClient, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, "", ""},
		{"call without name", mcp.Rev20251125, FromClient, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, "", "name"},
		{"id null", mcp.Rev20251125, FromClient, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "", "JSONRPCRequest"},
		{"wrong jsonrpc", mcp.Rev20250618, FromClient, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "", "jsonrpc"},
		{"ping", mcp.Rev20250618, FromServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "", ""},
		{"ping is gone", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, "", "does not send"},
		{"initialize from the wrong side", mcp.Rev20250618, FromServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "", "does not send"},
		{"extension method", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","id":1,"method":"com.example/do","params":{}}`, "", ""},
		{"elicitation", mcp.Rev20250618, FromServer, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`, "", ""},
		{"elicitation before its time", mcp.Rev20250326, FromServer, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`, "", "does not send"},
		{"modern server asks", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, "", "sends no requests"},
		{"modern client answers", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, "elicitation/create", "sends no results"},

		{"note", mcp.Rev20241105, FromServer, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`, "", ""},
		{"note without token", mcp.Rev20241105, FromServer, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5}}`, "", "progressToken"},
		{"note of the one client notification", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "", ""},
		{"progress from a modern client", mcp.Rev20260728, FromClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`, "", "does not send"},

		{"result", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`, "tools/call", ""},
		{"result without type", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, "tools/call", "resultType"},
		{"result without type, legacy", mcp.Rev20250326, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, "tools/call", ""},
		{"result without content", mcp.Rev20250326, FromServer, `{"jsonrpc":"2.0","id":1,"result":{}}`, "tools/call", "content"},
		{"list without cache hint", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}`, "tools/list", "ttlMs"},
		{"question", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`, "tools/call", ""},
		{"question where none may be", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`, "tools/list", "must not ask"},
		{"question of a wrong kind", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"tools/list"}}}}`, "tools/call", "InputRequiredResult"},
		{"extension result", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t"}}`, "tools/call", ""},
		{"task of the older kind", mcp.Rev20251125, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"task":{}}}`, "tools/call", "CreateTaskResult"},
		{"empty result", mcp.Rev20250618, FromClient, `{"jsonrpc":"2.0","id":1,"result":{}}`, "ping", ""},
		{"array as structured content", mcp.Rev20250618, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":[1]}}`, "tools/call", "structuredContent"},
		{"array as structured content, modern", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"structuredContent":[1]}}`, "tools/call", ""},
		{"audio before its time", mcp.Rev20241105, FromServer, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}}`, "tools/call", "CallToolResult"},

		{"error", mcp.Rev20241105, FromServer, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`, "", ""},
		{"error without id", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, "", ""},
		{"error with text as code", mcp.Rev20241105, FromServer, `{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}`, "", "code"},
		{"capability error without data", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}`, "", "data"},
		{"both", mcp.Rev20260728, FromServer, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, "", "exactly one"},

		{"batch", mcp.Rev20250326, FromClient, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`, "", ""},
		{"batch with a fault", mcp.Rev20250326, FromClient, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call"}]`, "", "message 1"},
		{"batch too late", mcp.Rev20250618, FromClient, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "", "no batches"},
		{"not JSON", mcp.Rev20260728, FromClient, `{`, "", "not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := spec.Validate(tt.rev, tt.dir, []byte(tt.frame), tt.method)
			if tt.fault == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("error %v does not say %q", err, tt.fault)
			}
		})
	}
}

// Every example that is a whole message must be valid as one.
func TestExamplesAreValid(t *testing.T) {
	spec := Load(t)
	n := 0
	for e := range spec.Examples(t) {
		n++
		if err := spec.ValidateType(mcp.Rev20260728, e.Type, e.Data); err != nil {
			t.Errorf("%s/%s: %v", e.Type, e.Name, err)
		}
		var head struct{ JSONRPC, Method string }
		if err := json.Unmarshal(e.Data, &head); err != nil {
			t.Fatal(err)
		}
		if head.JSONRPC == "" {
			continue
		}
		dir := FromServer
		if strings.HasSuffix(e.Type, "Request") {
			dir = FromClient
		}
		var method string
		if base, ok := strings.CutSuffix(e.Type, "ResultResponse"); ok {
			method = spec.revisions[mcp.Rev20260728].methodOf(base + "Request")
		}
		// One example lacks the cache hint that a complete result needs. Its own
		// definition lets that pass, because it could be read as a question;
		// a message is held against what it says it is.
		faulty := e.Name == "read-resource-result-response.json"
		if err := spec.Validate(mcp.Rev20260728, dir, e.Data, method); (err != nil) != faulty {
			t.Errorf("%s/%s as a message: %v", e.Type, e.Name, err)
		}
	}
	if n != 129 {
		t.Errorf("found %d examples, want 129", n)
	}
}

func TestEveryMethodHasItsDefinitions(t *testing.T) {
	spec := Load(t)
	for rev, r := range spec.revisions {
		for dir := range r.requests {
			for method := range r.requests[dir] {
				if def := r.resultOf(method); r.first(def) == "" {
					t.Errorf("%s: no result for %s", rev, method)
				} else if _, err := r.schema(def); err != nil {
					t.Error(err)
				}
			}
		}
		if len(r.requests[FromClient]) == 0 || len(r.notifications[FromServer]) == 0 {
			t.Errorf("%s: no client requests or server notifications found", rev)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	spec := Load(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, rev := range mcp.Revisions() {
				err := spec.Validate(rev, FromServer, []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), "")
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkValidate(b *testing.B) {
	spec := Load(b)
	frame := []byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}]}}`)
	for b.Loop() {
		if err := spec.Validate(mcp.Rev20260728, FromServer, frame, "tools/call"); err != nil {
			b.Fatal(err)
		}
	}
}
