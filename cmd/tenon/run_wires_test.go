package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

// run works the same over all three wires, with a provider of tenon.json: a call is
// made, its result reaches the model, a cut answer is asked for again, and errors of
// the provider have their exit codes. Every event has the published form.
func TestRunOverTheThreeWires(t *testing.T) {
	call := llmtest.Turn{Thinking: []string{"hm"}, Signature: "c2ln", Text: []string{"One moment. "}, Calls: []llm.ToolCall{{ID: "call_1", Name: "calc__add", Arguments: llm.RawMessage(`{"a":2,"b":3}`)}}, Usage: llm.Usage{Input: 10, Output: 5}}
	five := llmtest.Turn{Text: []string{"It is ", "5."}, Usage: llm.Usage{Input: 20, Output: 5}}
	for wire, path := range map[string]string{"anthropic": "", "openai-chat": "/v1", "openai-responses": "/v1"} {
		for name, c := range map[string]struct {
			turns []llmtest.Turn
			code  int
			stop  string
			says  string
		}{
			"a call":           {[]llmtest.Turn{call, five}, 0, "end", "It is 5."},
			"a cut answer":     {[]llmtest.Turn{{Text: []string{"It"}, Cut: true}, call, five}, 0, "end", "It is 5."},
			"too many at once": {[]llmtest.Turn{{Status: 429, Header: map[string][]string{"Retry-After-Ms": {"10"}}}, call, five}, 0, "end", "It is 5."},
			"a refusal":        {[]llmtest.Turn{{Refusal: "I will not."}}, exitTool, "refusal", "I will not."},
			"a wrong request":  {[]llmtest.Turn{{Status: 400}}, exitModel, "error", ""},
		} {
			t.Run(wire+", "+name, func(t *testing.T) {
				t.Parallel()
				s := llmtest.New(t, c.turns...)
				dir := t.TempDir()
				write(t, filepath.Join(dir, "tenon.json"), fmt.Sprintf(`{"providers": {"work": {"wire": %q, "dialect": "plain", "baseURL": %q, "key": %q, "models": [{"name": "m", "context": 100000}]}}}`, wire, s.URL+path, llmtest.Key))
				if wire == "anthropic" {
					write(t, filepath.Join(dir, "tenon.json"), fmt.Sprintf(`{"providers": {"work": {"wire": %q, "baseURL": %q, "key": %q, "models": [{"name": "m", "context": 100000}]}}}`, wire, s.URL+path, llmtest.Key))
				}
				var out, errs bytes.Buffer
				code := run(t.Context(), []string{"--config-dir", dir, "run", "2 and 3?", "--model", "work/m", "-s", "builtin:calc", "--allow", "calc", "--output", "stream-json"}, strings.NewReader(""), &out, &errs)
				lines := streamed(t, out.String())
				r := lines[len(lines)-1].Result
				if code != c.code || r.Stop != c.stop || r.Answer != c.says {
					t.Errorf("exit code %d, result %+v\n%s", code, r, &errs)
				}
				if strings.Contains(out.String()+errs.String(), llmtest.Key) {
					t.Error("the key is shown")
				}
				if last := string(s.Last()); c.says == "It is 5." && !strings.Contains(last, "call_1") {
					t.Errorf("the model does not get the result: %s", last)
				}
			})
		}
	}
}
