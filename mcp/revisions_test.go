package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
)

// What this package writes is valid in every revision that has the definition,
// from the named one on. Newer members are allowed by older schemas, because
// their objects are open.
func TestVocabularyIsValidInEveryRevision(t *testing.T) {
	spec := spectest.Load(t)
	text := mcp.Contents{mcp.Text("x")}
	icons := []mcp.Icon{{Src: "https://example.com/i.png", Sizes: []string{"any"}, Theme: "dark"}}
	tests := []struct {
		def   string
		since mcp.Revision
		value any
	}{
		{"Implementation", mcp.Rev20241105, mcp.Implementation{Name: "n", Version: "1", Title: "T", Description: "d", WebsiteURL: "https://example.com", Icons: icons}},
		{"Tool", mcp.Rev20241105, mcp.Tool{Name: "t", InputSchema: objectSchema, Icons: icons, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: ptr(true)}}},
		{"Tool", mcp.Rev20250618, mcp.Tool{Name: "t", InputSchema: objectSchema, OutputSchema: objectSchema}},
		{"Resource", mcp.Rev20241105, mcp.Resource{URI: "file:///x", Name: "n", Size: ptr(int64(5)), Icons: icons, Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: ptr(1.0), LastModified: "2025-01-12T15:00:58Z"}}},
		{"ResourceTemplate", mcp.Rev20241105, mcp.ResourceTemplate{URITemplate: "file:///{x}", Name: "n"}},
		{"Prompt", mcp.Rev20241105, mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}}}},
		{"PromptMessage", mcp.Rev20241105, mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Image([]byte("x"), "image/png")}},
		{"PromptMessage", mcp.Rev20250326, mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Audio([]byte("x"), "audio/wav")}},
		{"PromptMessage", mcp.Rev20250618, mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Link(mcp.Resource{URI: "file:///x", Name: "n"})}},
		{"EmbeddedResource", mcp.Rev20241105, &mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "file:///x", Blob: []byte{1}}}},
		{"TextResourceContents", mcp.Rev20241105, mcp.ResourceContents{URI: "file:///x"}},
		{"BlobResourceContents", mcp.Rev20241105, mcp.ResourceContents{URI: "file:///x", Blob: []byte{}}},
		{"SamplingMessage", mcp.Rev20241105, mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("x"))}},
		{"SamplingMessage", mcp.Rev20251125, mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewSamplingContent(mcp.Text("x"), &mcp.ToolUseContent{ID: "i", Name: "n"})}},
		{"SamplingMessage", mcp.Rev20251125, mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(&mcp.ToolResultContent{ToolUseID: "i", Content: text})}},
		{"CreateMessageResult", mcp.Rev20241105, mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.NewSamplingContent(mcp.Text("x")), Model: "m", StopReason: "endTurn"}},
		{"ModelPreferences", mcp.Rev20241105, mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "x"}}, CostPriority: ptr(0.0)}},
		{"ElicitResult", mcp.Rev20250618, mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"a":1,"b":"x","c":true}`)}},
		{"ListRootsResult", mcp.Rev20241105, mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///x", Name: "n"}}}},
		{"ClientCapabilities", mcp.Rev20241105, mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}},
			Sampling:    &mcp.SamplingCapability{Tools: mcp.Settings{}},
			Roots:       &mcp.RootsCapability{},
			Extensions:  map[string]json.RawMessage{"a/b": json.RawMessage(`{}`)},
		}},
		{"ServerCapabilities", mcp.Rev20241105, mcp.ServerCapabilities{
			Tools: &mcp.ListCapability{ListChanged: true}, Resources: &mcp.ResourcesCapability{Subscribe: true}, Prompts: &mcp.ListCapability{},
			Completions: mcp.Settings{}, Logging: mcp.Settings{},
		}},
	}
	for _, tt := range tests {
		raw, err := mcp.Marshal(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		for _, rev := range mcp.Revisions() {
			if rev < tt.since {
				continue
			}
			if err := spec.ValidateType(rev, tt.def, raw); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
		}
	}
}
