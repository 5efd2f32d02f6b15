package era_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

// newGallery is a server that has something of everything that only some
// revisions can say.
func newGallery(t *testing.T) mcp.Handler {
	s := server.New(mcp.Implementation{Name: "gallery", Version: "1", Title: "Gallery", Icons: []mcp.Icon{{Src: "https://gallery.example/i.png"}}}, nil)
	icons := []mcp.Icon{{Src: "https://gallery.example/t.png", MIMEType: "image/png", Sizes: []string{"48x48"}}}
	server.AddTool(s, "media", "All kinds of content", func(context.Context, *mcp.Call, nothing) (mcp.Contents, error) {
		return mcp.Contents{
			mcp.Text("text"),
			mcp.Image([]byte("image"), "image/png"),
			mcp.Audio([]byte("sound"), "audio/wav"),
			mcp.Link(mcp.Resource{URI: "test://link", Name: "link", Description: "see there"}),
			mcp.Embed(mcp.ResourceContents{URI: "test://embedded", MIMEType: "text/plain", Text: "inside"}),
		}, nil
	}, &server.ToolOptions{Title: "Media", Icons: icons, Annotations: server.ReadOnly()})
	server.AddTool(s, "numbers", "A list that is not an object", func(context.Context, *mcp.Call, nothing) ([]int, error) {
		return []int{1, 2, 3}, nil
	}, nil)
	server.AddTool(s, "sample", "Have a model write", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		r, err := server.Sample(c, "s", &mcp.CreateMessageParams{
			Messages:  []mcp.SamplingMessage{{Role: "user", Content: mcp.NewSamplingContent(mcp.Text("one"), mcp.Text("two"))}},
			MaxTokens: 9,
		})
		if err != nil {
			return "", err
		}
		return "from " + r.Model, nil
	}, nil)
	server.AddTool(s, "roots", "Ask for the roots", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		roots, err := server.Roots(c, "r")
		if err != nil || len(roots) == 0 {
			return "none", err
		}
		return roots[0].URI, nil
	}, nil)
	server.AddTool(s, "open", "Have a page opened", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		return "agreed", server.ElicitURL(c, "u", "Please log in", "https://gallery.example/login")
	}, nil)
	ask := func(name, property string) {
		server.AddTool(s, name, "Have something chosen", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
			a, err := c.Ask("q", mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"Which?","requestedSchema":{"type":"object","properties":{"x":` + property + `}}}`)})
			return string(a), err
		}, nil)
	}
	ask("choose", `{"type":"string","oneOf":[{"const":"a","title":"An A"},{"const":"b","title":"A B"}],"default":"a"}`)
	ask("several", `{"type":"array","items":{"type":"string","enum":["a","b"]}}`)
	server.AddPrompt(s, "show", "A prompt with a sound", func(context.Context, *mcp.Call, nothing) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{
			{Role: "user", Content: mcp.Audio([]byte("sound"), "audio/wav")},
			{Role: "assistant", Content: mcp.Link(mcp.Resource{URI: "test://link", Name: "link"})},
		}, nil
	}, &server.PromptOptions{Title: "Show", Icons: icons})
	text := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", "here"), nil
	}
	if err := s.AddResource(mcp.Resource{URI: "test://one", Name: "one", Title: "One", Icons: icons}, text, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// Older revisions cannot say everything; the conversations in the gallery show
// what becomes of it there.
func TestGallery(t *testing.T) {
	checked(t)
	mcptest.Run(t, "testdata/gallery/*.txtar", newGallery)
}
