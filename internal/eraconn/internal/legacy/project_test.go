package legacy

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// shorts name the revisions in the tables below.
var shorts = map[string]mcp.Revision{"24": mcp.Rev20241105, "2503": mcp.Rev20250326, "2506": mcp.Rev20250618, "2511": mcp.Rev20251125}

// A cell is what a result becomes in some revisions; those that are not named
// see it as it is.
type cell struct {
	name, method, body string
	becomes            map[string]string // by the names of revisions, with spaces between
}

func toolWith(members string) string {
	return `{"tools":[{"name":"t","inputSchema":{"type":"object"}` + members + `}]}`
}

func cells() []cell {
	text := `"content":[{"type":"text","text":"x"}]`
	link := `{"type":"resource_link","uri":"a:b","name":"n","description":"d"}`
	audio := `{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`
	icons := `,"icons":[{"src":"https://example.com/i.png"}]`
	inArray := `{"type":"array","items":{"$ref":"#/$defs/x"}`
	return []cell{
		{"structured object", mcp.MethodToolsCall, `{` + text + `,"structuredContent":{"a":1}}`, map[string]string{"24 2503": `{` + text + `}`}},
		{"structured array", mcp.MethodToolsCall, `{"structuredContent":[1],` + text + `}`,
			map[string]string{"24 2503": `{` + text + `}`, "2506 2511": `{"structuredContent":{"result":[1]},` + text + `}`}},
		{"structured null", mcp.MethodToolsCall, `{` + text + `,"structuredContent":null}`,
			map[string]string{"24 2503": `{` + text + `}`, "2506 2511": `{` + text + `,"structuredContent":{"result":null}}`}},
		{"structured and nothing else", mcp.MethodToolsCall, `{"content":[],"structuredContent":{"a":"b"}}`,
			map[string]string{"24 2503": `{"content":[{"type":"text","text":"{\"a\":\"b\"}"}]}`}},
		{"a tool error", mcp.MethodToolsCall, `{` + text + `,"isError":true}`, nil},
		{"outputSchema of an object", mcp.MethodToolsList, toolWith(`,"outputSchema":{"type":"object"}`), map[string]string{"24 2503": toolWith(``)}},
		{"outputSchema with $defs", mcp.MethodToolsList, toolWith(`,"outputSchema":` + inArray + `,"$defs":{"x":{"type":"string"}},"$schema":"https://json-schema.org/draft/2020-12/schema"}`),
			map[string]string{"24 2503": toolWith(``), "2506 2511": toolWith(`,"outputSchema":{"type":"object","properties":{"result":` + inArray + `}},"required":["result"],"$defs":{"x":{"type":"string"}},"$schema":"https://json-schema.org/draft/2020-12/schema"}`)}},
		{"outputSchema that refers to its root", mcp.MethodToolsList, toolWith(`,"outputSchema":{"type":"array","items":{"$ref":"#"}}`), map[string]string{"24 2503 2506 2511": toolWith(``)}},
		{"outputSchema that refers into itself", mcp.MethodToolsList, toolWith(`,"outputSchema":{"type":"array","prefixItems":[{"type":"string"},{"anyOf":[{"$ref":"#/prefixItems/0"}]}]}`), map[string]string{"24 2503 2506 2511": toolWith(``)}},
		{"outputSchema of an object or not", mcp.MethodToolsList, toolWith(`,"outputSchema":{"type":["object","null"]}`), map[string]string{"24 2503 2506 2511": toolWith(``)}},
		{"outputSchema of anything", mcp.MethodToolsList, toolWith(`,"outputSchema":{"anyOf":[{"type":"object"},{"type":"array"}]}`), map[string]string{"24 2503 2506 2511": toolWith(``)}},
		{"outputSchema of a number or null", mcp.MethodToolsList, toolWith(`,"outputSchema":{"type":["number","null"]}`),
			map[string]string{"24 2503": toolWith(``), "2506 2511": toolWith(`,"outputSchema":{"type":"object","properties":{"result":{"type":["number","null"]}},"required":["result"]}`)}},
		{"link in a tool", mcp.MethodToolsCall, `{"content":[` + link + `,{"type":"text","text":"x"}]}`,
			map[string]string{"24 2503": `{"content":[{"type":"text","text":"Resource n: a:b (d)"},{"type":"text","text":"x"}]}`}},
		{"audio in a tool", mcp.MethodToolsCall, `{"content":[` + audio + `]}`,
			map[string]string{"24": `{"content":[{"type":"resource","resource":{"uri":"tenon:audio","mimeType":"audio/wav","blob":"AAAA"}}]}`}},
		{"link in a prompt", mcp.MethodPromptsGet, `{"description":"d","messages":[{"role":"user","content":` + link + `}]}`,
			map[string]string{"24 2503": `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"Resource n: a:b (d)"}}]}`}},
		{"audio in a prompt", mcp.MethodPromptsGet, `{"messages":[{"role":"assistant","content":` + audio + `}]}`,
			map[string]string{"24": `{"messages":[{"role":"assistant","content":{"type":"resource","resource":{"uri":"tenon:audio","mimeType":"audio/wav","blob":"AAAA"}}}]}`}},
		{"icons of a tool", mcp.MethodToolsList, toolWith(icons), map[string]string{"24 2503 2506": toolWith(``)}},
		{"icons of a prompt", mcp.MethodPromptsList, `{"prompts":[{"name":"p"` + icons + `}]}`, map[string]string{"24 2503 2506": `{"prompts":[{"name":"p"}]}`}},
		{"icons of a resource", mcp.MethodResourcesList, `{"resources":[{"name":"p","uri":"a:b"` + icons + `}],"nextCursor":"c"}`, map[string]string{"24 2503 2506": `{"resources":[{"name":"p","uri":"a:b"}],"nextCursor":"c"}`}},
		{"icons of a template", mcp.MethodResourceTemplatesList, `{"resourceTemplates":[{"name":"p","uriTemplate":"a:{b}"` + icons + `}]}`, map[string]string{"24 2503 2506": `{"resourceTemplates":[{"name":"p","uriTemplate":"a:{b}"}]}`}},
		{"a resource", mcp.MethodResourcesRead, `{"contents":[{"uri":"a:b","text":"x"}]}`, nil},
		{"a completion", mcp.MethodComplete, `{"completion":{"values":["a"]}}`, nil},
	}
}

func TestEveryCellOfTheTable(t *testing.T) {
	spec := schemas(t)
	for _, c := range cells() {
		for short, rev := range shorts {
			t.Run(c.name+"/"+string(rev), func(t *testing.T) {
				want := c.body
				for names, body := range c.becomes {
					for name := range strings.FieldsSeq(names) {
						if name == short {
							want = body
						}
					}
				}
				cl := newClient(t, spec, offering(everything, func(context.Context, *mcp.Call) (mcp.Result, error) {
					return mcp.Result{Body: raw(c.body), Type: "", Cache: mcp.Cache{TTL: 5}}, nil
				}))
				defer cl.session.Close()
				cl.initialize(rev, ableClient)
				params := map[string]string{
					mcp.MethodToolsCall: `{"name":"t"}`, mcp.MethodPromptsGet: `{"name":"p"}`, mcp.MethodResourcesRead: `{"uri":"a:b"}`,
					mcp.MethodComplete: `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
				}[c.method]
				got := cl.request(c.method, params)
				if a, b := rawjson.AppendCanonical(nil, got.Result), rawjson.AppendCanonical(nil, raw(want)); string(a) != string(b) {
					t.Errorf("got  %s\nwant %s", got.Result, want)
				}
			})
		}
	}
}

// Large lists are remembered for each revision by itself.
func TestLargeListsAreNotMixedUp(t *testing.T) {
	long := toolWith(`,"description":"` + strings.Repeat("x", 2000) + `","icons":[{"src":"https://example.com/i.png"}]`)
	h := offering(everything, func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{Body: raw(long)}, nil })
	for range 3 {
		for short, rev := range shorts {
			cl := newClient(t, nil, h)
			cl.initialize(rev, ableClient)
			got := cl.request(mcp.MethodToolsList, "")
			if hasIcons := strings.Contains(string(got.Result), "icons"); hasIcons != (short == "2511") {
				t.Errorf("%s: icons %v", rev, hasIcons)
			}
			cl.session.Close()
		}
	}
}

func TestQuestions(t *testing.T) {
	spec := schemas(t)
	form := func(properties string) string {
		return `{"message":"?","requestedSchema":{"type":"object","properties":{` + properties + `},"required":["z"]}}`
	}
	titled := `"a":{"type":"string","title":"A","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}`
	blocks := `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":{"type":"text","text":"c"}}],"maxTokens":5}`
	for _, c := range []struct {
		name, revs, method, params, want string // want: what is asked; "!" and a part of the error
	}{
		{"form", "2506 2511", mcp.MethodElicit, form(`"z":{"type":"string"}`), form(`"z":{"type":"string"}`)},
		{"form", "24 2503", mcp.MethodElicit, form(`"z":{"type":"string"}`), "!elicitation"},
		{"form with its mode", "2506", mcp.MethodElicit, `{"mode":"form",` + form(`"z":{"type":"string"}`)[1:], form(`"z":{"type":"string"}`)},
		{"titled choices", "2511", mcp.MethodElicit, form(`"z":{"type":"string"},` + titled), form(`"z":{"type":"string"},` + titled)},
		{"titled choices keep their place", "2506", mcp.MethodElicit, form(`"z":{"type":"string"},` + titled + `,"b":{"type":"boolean"}`),
			form(`"z":{"type":"string"},"a":{"enum":["x","y"],"enumNames":["X","Y"],"type":"string","title":"A"},"b":{"type":"boolean"}`)},
		{"several choices", "2511", mcp.MethodElicit, form(`"z":{"type":"array","items":{"type":"string","enum":["x"]}}`), form(`"z":{"type":"array","items":{"type":"string","enum":["x"]}}`)},
		{"several choices", "2506", mcp.MethodElicit, form(`"z":{"type":"array","items":{"type":"string","enum":["x"]}}`), `!several choices at once (field "z")`},
		{"page", "2511", mcp.MethodElicit, `{"mode":"url","message":"?","url":"https://example.com"}`, "*elicitationId"},
		{"page", "24 2503 2506", mcp.MethodElicit, `{"mode":"url","message":"?","url":"https://example.com"}`, "!elicitation.url"},
		{"sampling in blocks", "2511", mcp.MethodCreateMessage, blocks, blocks},
		{"sampling in blocks", "24 2503 2506", mcp.MethodCreateMessage, blocks,
			`{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"b"}},{"role":"assistant","content":{"type":"text","text":"c"}}],"maxTokens":5}`},
		{"sampling with tools", "24 2503 2506", mcp.MethodCreateMessage, `{"messages":[],"maxTokens":1,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`, "!sampling.tools"},
		{"roots", "24 2503 2506 2511", mcp.MethodRootsList, ``, ``},
	} {
		for short := range strings.FieldsSeq(c.revs) {
			t.Run(c.name+"/"+short, func(t *testing.T) {
				cl := newClient(t, spec, offering(everything, func(_ context.Context, call *mcp.Call) (mcp.Result, error) {
					q := mcp.InputRequest{Method: c.method}
					if c.params != "" {
						q.Params = raw(c.params)
					}
					a, err := call.Ask("k", q)
					return mcp.Result{Body: raw(`{"content":[]}`), Meta: mcp.Meta{"example.com/a": a}}, err
				}))
				defer cl.session.Close()
				cl.initialize(shorts[short], ableClient)
				asked := "nothing"
				cl.answer = func(method string, params []byte) jsonrpc.Message {
					asked = string(params)
					return jsonrpc.Message{Result: raw(`{"action":"accept","_meta":{"x":1}}`)}
				}
				m := &jsonrpc.Message{ID: jsonrpc.IntID(1), Method: mcp.MethodToolsCall, Params: raw(`{"name":"t"}`)}
				out := string(cl.session.Respond(t.Context(), m, nil, cl).Append(nil))
				part, refused := strings.CutPrefix(c.want, "!")
				switch {
				case refused:
					if !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), part) || asked != "nothing" || !strings.Contains(out, `"error"`) {
						t.Errorf("asked %s, got %s", asked, out)
					}
				case strings.HasPrefix(c.want, "*"):
					if !strings.Contains(asked, c.want[1:]) {
						t.Errorf("asked %s", asked)
					}
				case asked != c.want:
					t.Errorf("asked %s\nwant  %s", asked, c.want)
				}
			})
		}
	}
}

func TestErrorsOfOlderRevisions(t *testing.T) {
	for _, c := range []struct {
		method string
		err    error
		code   int
	}{
		{mcp.MethodResourcesRead, mcp.ResourceNotFound("a:b"), mcp.CodeLegacyResourceNotFound},
		{mcp.MethodResourcesRead, mcp.InvalidParams("no uri"), mcp.CodeInvalidParams},
		{mcp.MethodToolsCall, mcp.InvalidParams("x").With(map[string]string{"uri": "a:b"}), mcp.CodeInvalidParams},
		{mcp.MethodToolsCall, mcp.MissingCapability(&mcp.ClientCapabilities{}, "x"), mcp.CodeInvalidRequest},
		{mcp.MethodToolsCall, mcp.Errorf(mcp.CodeHeaderMismatch, "x"), mcp.CodeInvalidRequest},
		{mcp.MethodToolsCall, context.DeadlineExceeded, mcp.CodeInternal},
		{mcp.MethodToolsCall, mcp.Errorf(42, "x"), 42},
	} {
		cl := newClient(t, nil, offering(everything, func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, c.err }))
		cl.initialize(mcp.Rev20251125, `{}`)
		cl.wantError(c.method, `{"uri":"a:b"}`, c.code, "")
		cl.session.Close()
	}
}

// The task that one revision may ask for is taken off and ignored.
func TestTasksAreIgnored(t *testing.T) {
	cl := newClient(t, schemas(t), offering(everything, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if string(c.Params) != `{"name":"t"}` {
			t.Errorf("the params are %s", c.Params)
		}
		return mcp.Result{Body: raw(`{"content":[]}`)}, nil
	}))
	defer cl.session.Close()
	cl.initialize(mcp.Rev20251125, `{"tasks":{"requests":{}}}`)
	if m := cl.request(mcp.MethodToolsCall, `{"task":{"ttl":5},"name":"t"}`); m.Error != nil {
		t.Error(m.Error)
	}
}
