package client_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// gone, for a schema, means that the tool is not listed.
const gone = "gone"

// promising is a server with one tool, t, that has an output schema.
func promising(schema *string, result string, calls *int) mcp.Handler {
	return mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodToolsCall {
			*calls++
			return mcp.Result{Body: json.RawMessage(result)}, nil
		}
		if *schema == gone {
			return mcp.Result{Body: json.RawMessage(`{"tools":[]}`)}, nil
		}
		list := `{"tools":[{"name":"t","inputSchema":{"type":"object"}`
		if *schema != "" {
			list += `,"outputSchema":` + *schema
		}
		return mcp.Result{Body: json.RawMessage(list + `}]}`)}, nil
	})
}

func TestOutputCheck(t *testing.T) {
	const want = `{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`
	tests := []struct {
		name, schema, result string
		fails                string
		calls                int
	}{
		{"fits", want, `{"content":[],"structuredContent":{"sum":3}}`, "", 1},
		{"wrong type", want, `{"content":[],"structuredContent":{"sum":"3"}}`, `invalid result of tools/call "t": structuredContent violates the output schema of the tool: sum: expected integer, got string`, 1},
		{"missing member", want, `{"content":[],"structuredContent":{}}`, "sum: is required but missing", 1},
		{"nothing structured", want, `{"content":[{"type":"text","text":"{\"sum\":3}"}]}`, "the result has no structuredContent", 1},
		{"failed", want, `{"content":[{"type":"text","text":"no"}],"isError":true}`, "", 1},
		{"no promise", ``, `{"content":[],"structuredContent":{"sum":"3"}}`, "", 1},
		{"any value", `{"type":"array"}`, `{"content":[],"structuredContent":[1]}`, "", 1},
		{"null", `{"type":"null"}`, `{"content":[],"structuredContent":null}`, "", 1},

		// Nothing is fetched, and nothing is taken for allowed because it
		// could not be checked.
		{"C32 reference to elsewhere", `{"$ref":"http://169.254.169.254/x"}`, `{"content":[],"structuredContent":1}`, `tool "t" was not called: invalid output schema: `, 0},
		{"C32 reference to a file", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"content":[],"structuredContent":{}}`, "never fetched", 0},
		{"unknown dialect", `{"$schema":"http://example.com/mine"}`, `{"content":[],"structuredContent":1}`, "SkipOutputCheck", 0},
		{"C34 look-ahead", `{"type":"string","pattern":"(?=x)"}`, `{"content":[],"structuredContent":"x"}`, "invalid output schema", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls int
			h := promising(&tt.schema, tt.result, &calls)
			call := func(c *client.Client) error { _, err := c.CallTool(t.Context(), "t", nil, nil); return err }

			c := client.New(h, nil)
			if err := call(c); err != nil {
				t.Errorf("a tool that was never listed was checked: %v", err)
			}
			if err := drain(c.Tools(t.Context())); err != nil {
				t.Fatal(err)
			}
			calls = 0
			err := call(c)
			if tt.fails != "" {
				wantError(t, err, tt.fails)
			} else if err != nil {
				t.Error(err)
			}
			if calls != tt.calls {
				t.Errorf("%d calls reached the server, want %d", calls, tt.calls)
			}

			skip := client.New(h, &client.Options{SkipOutputCheck: true})
			if err := drain(skip.Tools(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := call(skip); err != nil {
				t.Errorf("SkipOutputCheck: %v", err)
			}
		})
	}
}

// The last listing counts.
func TestOutputSchemaChanges(t *testing.T) {
	schema := `{"type":"string"}`
	var calls int
	c := client.New(promising(&schema, `{"content":[],"structuredContent":7}`, &calls), nil)
	for _, st := range []struct {
		schema string
		fails  string
	}{
		{`{"type":"string"}`, "expected string"},
		{`{"type":"string"}`, "expected string"},
		{`{"type":"number"}`, ""},
		{``, ""},
		{`{"type":"string"}`, "expected string"},
		{gone, ""},
		{`{"type":"object"}`, "expected object"},
	} {
		schema = st.schema
		if err := drain(c.Tools(t.Context())); err != nil {
			t.Fatal(err)
		}
		_, err := client.Call[int](t.Context(), c, "t", nil, nil)
		if st.fails != "" {
			wantError(t, err, st.fails)
		} else if err != nil {
			t.Errorf("schema %q: %v", st.schema, err)
		}
	}
	if _, err := client.Call[int](t.Context(), c.As(&mcp.Principal{ID: "ada"}), "t", nil, nil); err != nil {
		t.Errorf("what one principal was shown binds another: %v", err)
	}
}
