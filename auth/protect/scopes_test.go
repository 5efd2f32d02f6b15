package protect

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// byName is what a server might require.
func byName(method, name string) []string {
	switch method + " " + name {
	case "tools/call write_file":
		return []string{"files:write", "files:audit"}
	case "tools/call read_file", "resources/read file:///secret":
		return []string{"files:read"}
	case "prompts/get plan":
		return []string{"plans"}
	}
	return nil
}

// A26 (CVE-2026-11719): a token without the scopes of an operation gets a
// challenge with all of them, before the handler runs.
func TestScopesOfOperations(t *testing.T) {
	is := newIssuer(t)
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	}
	write, read := call("tools/call", `{"name":"write_file"}`), call("tools/call", `{"name":"read_file"}`)
	for _, test := range []struct {
		name, granted, body string
		status              int
		scope               string
	}{
		{"nothing needed", "mcp", call("tools/list", `{}`), 200, ""},
		{"granted", "mcp files:read", read, 200, ""},
		{"missing", "mcp", read, 403, "mcp files:read"},
		{"all at once", "mcp", write, 403, "mcp files:write files:audit"},
		{"one of two", "mcp files:write", write, 403, "mcp files:write files:audit"},
		{"all but the first", "files:read", read, 403, "mcp files:read"},
		{"not even the first", "", call("tools/list", `{}`), 403, "mcp"},
		{"a broader one", "mcp files", write, 200, ""},
		{"the broadest", "admin", write, 200, ""},
		{"a longer name", "mcp files:readonly", read, 403, "mcp files:read"},
		{"another case", "mcp FILES:READ", read, 403, "mcp files:read"},
		{"a prompt", "mcp", call("prompts/get", `{"name":"plan"}`), 403, "mcp plans"},
		{"a resource", "mcp", call("resources/read", `{"uri":"file:///secret"}`), 403, "mcp files:read"},
		{"a resource under a false name", "mcp", call("resources/read", `{"name":"harmless","uri":"file:///secret"}`), 403, "mcp files:read"},
		{"a tool under a false address", "mcp", call("tools/call", `{"uri":"harmless","name":"read_file"}`), 403, "mcp files:read"},
		{"written with escapes", "mcp", `{"m\u0065thod":"tools\/call","params":{"n\u0061me":"read\u005ffile"}}`, 403, "mcp files:read"},
		{"in a batch", "mcp", "[" + call("ping", "{}") + "," + read + "," + write + "]", 403, "mcp files:read files:write files:audit"},
		{"a good batch", "mcp files:read", "[" + call("ping", "{}") + "," + read + "]", 200, ""},
		{"an answer", "mcp", `{"jsonrpc":"2.0","id":1,"result":{}}`, 200, ""},
		{"params in an array", "mcp", call("tools/call", `["read_file"]`), 200, ""}, // the handler finds no tool in it

		{"not JSON", "admin", `{"method":`, 400, ""},
		{"nothing", "admin", ``, 400, ""},
		{"two messages", "admin", read + read, 400, ""},
		{"a name twice", "admin", `{"method":"ping","method":"tools/call"}`, 400, ""},
		{"a method of another kind", "admin", `{"method":["tools/call"]}`, 400, ""},
		{"a name of another kind", "admin", call("tools/call", `{"name":{}}`), 400, ""},
		{"a number", "admin", `1`, 400, ""},
		{"numbers", "admin", `[1]`, 400, ""},
		{"too many", "admin", "[" + strings.Repeat(`{},`, 100) + "{}]", 400, ""},
		{"too deep", "admin", strings.Repeat("[", 1000), 400, ""},
		{"too long", "admin", `"` + strings.Repeat("x", 10_000) + `"`, 413, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, _ := guarded(t, is, func(o *Options) {
				o.Scopes, o.Require, o.MaxBody = []string{"mcp"}, byName, 10_000
				o.Implies = map[string][]string{"files": {"files:read", "files:write", "files:audit"}, "admin": {"files", "mcp", "admin"}}
			})
			got := "(the handler did not run)"
			h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = string(body)
				if r.ContentLength != int64(len(body)) {
					t.Errorf("the length is %d, the body has %d", r.ContentLength, len(body))
				}
			}))
			r := post(test.body, "Authorization: Bearer "+is.token(map[string]any{"scope": test.granted}))
			w := do(h, r)
			switch test.status {
			case 200:
				expect(t, w, 200)
				if got != test.body {
					t.Errorf("the handler got %q", got)
				}
			case 403:
				expect(t, w, 403, `error="insufficient_scope"`, `scope="`+test.scope+`"`, "resource_metadata=", "error_description=")
			default:
				expect(t, w, test.status)
			}
			if test.status != 200 && !strings.HasPrefix(got, "(") {
				t.Errorf("the handler ran with %q", got)
			}
		})
	}
}

// The scopes of every request hold for other methods too; bodies are read only
// if they decide something.
func TestScopesOfEveryRequest(t *testing.T) {
	is := newIssuer(t)
	_, h := guarded(t, is, func(o *Options) { o.Scopes = []string{"mcp"} })
	for _, method := range []string{"GET", "DELETE", "POST"} {
		r := post("not JSON", "Authorization: Bearer "+is.token(nil))
		r.Method = method
		expect(t, do(h, r), 403, `scope="mcp"`)
		r = post("not JSON", "Authorization: Bearer "+is.token(map[string]any{"scope": "x mcp"}))
		r.Method = method
		expect(t, do(h, r), 200)
	}
}

// A body of no declared length is read to the same limit.
func TestEndlessBody(t *testing.T) {
	is := newIssuer(t)
	_, h := guarded(t, is, func(o *Options) { o.Require = byName })
	r := post("", "Authorization: Bearer "+is.token(nil))
	r.Body, r.ContentLength = io.NopCloser(endless{}), -1
	expect(t, do(h, r), 413)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestHierarchy(t *testing.T) {
	h := newHierarchy(map[string][]string{"a": {"b"}, "b": {"c", "a"}, "x": {"x"}})
	for _, test := range []struct {
		granted, needed string
		want            bool
	}{
		{"a", "c", true}, {"b", "a", true}, {"c", "a", false}, {"x", "a", false}, {"", "", true}, {"", "a", false}, {"a", "b c", true}, {"c x", "c x", true},
	} {
		if got := h.cover(splitScopes(test.granted), splitScopes(test.needed)); got != test.want {
			t.Errorf("%q for %q: %v", test.granted, test.needed, got)
		}
	}
}

// Scopes of one request must not show up in the challenge of another.
func TestUnionLeavesItsInputAlone(t *testing.T) {
	base := make([]string, 1, 10)
	base[0] = "a"
	one, two := union(base, []string{"b"}), union(base, []string{"c"})
	if one[1] != "b" || two[1] != "c" {
		t.Errorf("%v %v", one, two)
	}
}
