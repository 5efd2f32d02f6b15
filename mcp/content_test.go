package mcp_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func ptr[T any](v T) *T { return &v }

// Each value is written as exactly this text by both JSON packages, and the
// text is read back as the same value by both.
func TestWireForms(t *testing.T) {
	tests := []struct {
		name  string
		value any // a pointer
		wire  string
	}{
		{"text", &mcp.Contents{mcp.Text("a\u2028<b>\n\"")}, `[{"type":"text","text":"a` + "\u2028" + `<b>\n\""}]`},
		{"empty text", &mcp.Contents{mcp.Text("")}, `[{"type":"text","text":""}]`},
		{"no content", &mcp.Contents{}, `[]`},
		{"text with more", &mcp.Contents{&mcp.TextContent{Text: "x", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: ptr(0.0)}, Meta: mcp.Meta{"k": json.RawMessage(`1`)}}},
			`[{"type":"text","text":"x","annotations":{"audience":["user"],"priority":0},"_meta":{"k":1}}]`},
		{"image", &mcp.Contents{mcp.Image([]byte{0xfb, 0xff}, "image/png")}, `[{"type":"image","data":"+/8=","mimeType":"image/png"}]`},
		{"empty image", &mcp.Contents{mcp.Image([]byte{}, "image/png")}, `[{"type":"image","data":"","mimeType":"image/png"}]`},
		{"audio", &mcp.Contents{mcp.Audio([]byte("a"), "audio/wav")}, `[{"type":"audio","data":"YQ==","mimeType":"audio/wav"}]`},
		{"link", &mcp.Contents{mcp.Link(mcp.Resource{URI: "u", Name: "n", Size: ptr(int64(0))})}, `[{"type":"resource_link","uri":"u","name":"n","size":0}]`},
		{"embedded", &mcp.Contents{mcp.Embed(mcp.ResourceContents{URI: "u"})}, `[{"type":"resource","resource":{"uri":"u","text":""}}]`},
		{"unknown", &mcp.Contents{&mcp.UnknownContent{Type: "hologram", Raw: json.RawMessage(`{"z":1e2,"type":"hologram","a":[{"type":"text"}]}`)}}, `[{"z":1e2,"type":"hologram","a":[{"type":"text"}]}]`},
		{"tool use", &mcp.Contents{&mcp.ToolUseContent{ID: "i", Name: "n", Input: json.RawMessage(`{}`)}}, `[{"type":"tool_use","id":"i","name":"n","input":{}}]`},
		{"tool result", &mcp.Contents{&mcp.ToolResultContent{ToolUseID: "i", Content: mcp.Contents{mcp.Text("x")}, IsError: true}}, `[{"type":"tool_result","toolUseId":"i","content":[{"type":"text","text":"x"}],"isError":true}]`},

		{"text resource", &mcp.ResourceContents{URI: "u", Text: "t", MIMEType: "m"}, `{"uri":"u","mimeType":"m","text":"t"}`},
		{"empty text resource", &mcp.ResourceContents{URI: "u"}, `{"uri":"u","text":""}`},
		{"blob resource", &mcp.ResourceContents{URI: "u", Blob: []byte("b")}, `{"uri":"u","blob":"Yg=="}`},
		{"empty blob resource", &mcp.ResourceContents{URI: "u", Blob: []byte{}}, `{"uri":"u","blob":""}`},

		{"structured null", &mcp.CallToolResult{Content: mcp.Contents{}, StructuredContent: json.RawMessage(`null`)}, `{"content":[],"structuredContent":null}`},
		{"no cursor", &mcp.PageParams{}, `{}`},
		{"empty cursor", &mcp.PageParams{Cursor: ptr("")}, `{"cursor":""}`},
		{"empty next cursor", &mcp.ListPromptsResult{Prompts: []mcp.Prompt{}, NextCursor: ptr("")}, `{"prompts":[],"nextCursor":""}`},
		{"progress", &mcp.ProgressParams{Progress: 0.5}, `{"progress":0.5}`},
		{"whole progress", &mcp.ProgressParams{Progress: 9007199254740991, Total: 1e21, Message: "m"}, `{"progress":9007199254740991,"total":1e+21,"message":"m"}`},
		{"prompt message", &mcp.PromptMessage{Role: mcp.RoleAssistant, Content: mcp.Text("x")}, `{"role":"assistant","content":{"type":"text","text":"x"}}`},
		{"prompt", &mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a", Title: "A", Required: true}}}, `{"name":"p","arguments":[{"name":"a","title":"A","required":true}]}`},
		{"resource reference", ptr(mcp.ResourceRef("file:///{p}")), `{"type":"ref/resource","uri":"file:///{p}"}`},
		{"prompt reference", ptr(mcp.PromptRef("p")), `{"type":"ref/prompt","name":"p"}`},
		{"execution of an older revision", &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), Execution: &mcp.ToolExecution{TaskSupport: "optional"}}, `{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`},
		{"schema keywords in their order", &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"$schema":"s","type":"object","$defs":{"a":{"$anchor":"x"}},"x-mcp-header":"H","if":true,"maximum":1.0}`)}, `{"name":"t","inputSchema":{"$schema":"s","type":"object","$defs":{"a":{"$anchor":"x"}},"x-mcp-header":"H","if":true,"maximum":1.0}}`},

		{"nothing", &mcp.ClientCapabilities{}, `{}`},
		{"form only", &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}, `{"elicitation":{}}`},
		{"settings are kept", &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{"k": json.RawMessage(`1`)}}}, `{"elicitation":{"url":{"k":1}}}`},
		{"tasks of an older revision", &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{ListChanged: true}, Other: map[string]json.RawMessage{"tasks": json.RawMessage(`{"list":{}}`)}}, `{"roots":{"listChanged":true},"tasks":{"list":{}}}`},
		{"server", &mcp.ServerCapabilities{Tools: &mcp.ListCapability{}, Completions: mcp.Settings{}, Other: map[string]json.RawMessage{"x": json.RawMessage(`{}`)}}, `{"tools":{},"completions":{},"x":{}}`},
		{"filter", &mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"u"}, Other: map[string]json.RawMessage{"taskIds": json.RawMessage(`["t"]`)}}, `{"toolsListChanged":true,"resourceSubscriptions":["u"],"taskIds":["t"]}`},

		{"one block", &mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("x"))}, `{"role":"user","content":{"type":"text","text":"x"}}`},
		{"a list of one block", &mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.SamplingContent{Blocks: mcp.Contents{mcp.Text("x")}, List: true}}, `{"role":"user","content":[{"type":"text","text":"x"}]}`},
		{"log", &mcp.LogMessage{Level: mcp.LogInfo, Data: json.RawMessage(`"x"`)}, `{"level":"info","data":"x"}`},
		{"url elicitation of an older revision", &mcp.ElicitParams{Mode: mcp.ModeURL, Message: "m", URL: "https://x", ElicitationID: "e"}, `{"mode":"url","message":"m","url":"https://x","elicitationId":"e"}`},
		{"declined", &mcp.ElicitResult{Action: mcp.ActionDecline}, `{"action":"decline"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, codec := range codecs {
				raw, err := codec.encode(tt.value)
				if err != nil {
					t.Fatal(err)
				}
				if !sameJSON(t, raw, []byte(tt.wire)) {
					t.Errorf("%s wrote %s\nwant %s", name, raw, tt.wire)
				}
				back := reflect.New(reflect.TypeOf(tt.value).Elem()).Interface()
				if err := codec.decode([]byte(tt.wire), back); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !reflect.DeepEqual(back, tt.value) {
					t.Errorf("%s read %+v, want %+v", name, back, tt.value)
				}
			}
			// Ours also keeps the order and the spelling.
			if raw, _ := mcp.Marshal(tt.value); string(raw) != tt.wire {
				t.Errorf("Marshal wrote %s\nwant %s", raw, tt.wire)
			}
		})
	}
}

var codecs = map[string]struct {
	encode func(any) ([]byte, error)
	decode func([]byte, any) error
}{
	"json v2": {func(v any) ([]byte, error) { return mcp.Marshal(v) }, mcp.Unmarshal},
	"json v1": {json.Marshal, json.Unmarshal},
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(parse(t, a), parse(t, b))
}

func TestContentThatCannotBeWritten(t *testing.T) {
	for name, cs := range map[string]mcp.Contents{
		"nil block":          {nil},
		"unknown, not JSON":  {&mcp.UnknownContent{Type: "x", Raw: json.RawMessage(`{`)}},
		"unknown, no object": {&mcp.UnknownContent{Type: "x", Raw: json.RawMessage(`1`)}},
		"unknown, empty":     {&mcp.UnknownContent{Type: "x"}},
	} {
		if raw, err := mcp.Marshal(cs); err == nil {
			t.Errorf("%s: written as %s", name, raw)
		} else if !strings.Contains(err.Error(), "content block 0") {
			t.Errorf("%s: the error %q does not say which block", name, err)
		}
	}
	if _, err := mcp.Marshal(mcp.PromptMessage{Role: mcp.RoleUser}); err == nil {
		t.Error("a prompt message without content was written")
	}
}

func TestUnknownContentIsItsOwnCopy(t *testing.T) {
	data := []byte(`[{"type":"new","v":1}]`)
	var cs mcp.Contents
	if err := mcp.Unmarshal(data, &cs); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'x'
	}
	if raw, err := mcp.Marshal(cs); err != nil || string(raw) != `[{"type":"new","v":1}]` {
		t.Errorf("got %s, %v", raw, err)
	}
	if cs[0].ContentType() != "new" {
		t.Errorf("type %q", cs[0].ContentType())
	}
}

func TestContentsText(t *testing.T) {
	cs := mcp.Contents{mcp.Text("a"), mcp.Image(nil, ""), mcp.Text("b")}
	if got := cs.Text(); got != "a\nb" {
		t.Errorf("got %q", got)
	}
}
