package protect

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzOperation looks for a body in which the guard sees another call than a
// lax reader does: that call would run with the scopes of the first.
func FuzzOperation(f *testing.F) {
	for _, seed := range []string{
		`{"method":"tools/call","params":{"name":"x"}}`, `[{"method":"resources/read","params":{"uri":"x","name":"y"}}]`,
		`{"method":"a","m\u0065thod":"b"}`, `{"method":"tools\/call","params":{"name":"\ud83d\ude00"}}`, `{"method":null}`, ` {} `, `[]`, `[[]]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var seen [][2]string
		g := &Guard{opts: Options{MaxBody: 1 << 20, Require: func(method, name string) []string {
			seen = append(seen, [2]string{method, name})
			return nil
		}}}
		r := post(body)
		if _, no := g.needs(httptest.NewRecorder(), r); no != nil {
			return
		}
		var messages []map[string]any
		if err := json.Unmarshal([]byte(body), &messages); err != nil {
			var one map[string]any
			if err := json.Unmarshal([]byte(body), &one); err != nil {
				t.Fatalf("passed, but no JSON: %v", err)
			}
			messages = []map[string]any{one}
		}
		if len(messages) != len(seen) {
			t.Fatalf("%d messages, %d judged", len(messages), len(seen))
		}
		for i, m := range messages {
			method, _ := m["method"].(string)
			params, _ := m["params"].(map[string]any)
			name, _ := params["name"].(string)
			if strings.HasPrefix(method, "resources/") {
				name, _ = params["uri"].(string)
			}
			if seen[i] != [2]string{method, name} {
				t.Errorf("judged %q, is %q", seen[i], [2]string{method, name})
			}
		}
	})
}
