package main

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func addResources(s *server.Server) error {
	fixed := func(r mcp.Resource, contents mcp.ResourceContents) error {
		return s.AddResource(r, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{contents}, nil
		}, nil)
	}
	err := fixed(mcp.Resource{URI: "test://static-text", Name: "static text", Description: "A text that never changes.", MIMEType: "text/plain"},
		mcp.ResourceContents{Text: "This is the content of the static text resource."})
	if err != nil {
		return err
	}
	err = fixed(mcp.Resource{URI: "test://static-binary", Name: "static binary", Description: "A picture that never changes.", MIMEType: "image/png"},
		mcp.ResourceContents{Blob: pixel})
	if err != nil {
		return err
	}
	err = fixed(mcp.Resource{URI: "test://watched-resource", Name: "watched resource", Description: "Something to subscribe to.", MIMEType: "text/plain"},
		mcp.ResourceContents{Text: "Watch this."})
	if err != nil {
		return err
	}
	return s.AddTemplate(mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data", Name: "data by id", Description: "The data that belongs to an id.", MIMEType: "application/json",
	}, func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
		return server.JSONResource(map[string]any{"id": vars["id"], "templateTest": true, "data": "Data for ID: " + vars["id"]})
	}, nil)
}

func addPrompts(s *server.Server) {
	server.AddPrompt(s, "test_simple_prompt", "A prompt without arguments.", func(context.Context, *mcp.Call, nothing) (string, error) {
		return "This is a simple prompt for testing.", nil
	}, nil)
	server.AddPrompt(s, "test_prompt_with_arguments", "A prompt with two arguments.", func(_ context.Context, _ *mcp.Call, in struct {
		Arg1 string `json:"arg1" doc:"First test argument"`
		Arg2 string `json:"arg2" doc:"Second test argument"`
	}) (string, error) {
		return fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", in.Arg1, in.Arg2), nil
	}, nil)
	server.AddPrompt(s, "test_prompt_with_embedded_resource", "A prompt that embeds a resource.", func(_ context.Context, _ *mcp.Call, in struct {
		ResourceURI string `json:"resourceUri" doc:"URI of the resource to embed"`
	}) ([]mcp.PromptMessage, error) {
		return userMessages(
			mcp.Embed(mcp.ResourceContents{URI: in.ResourceURI, MIMEType: "text/plain", Text: "Embedded resource content for testing."}),
			mcp.Text("Please process the embedded resource above."),
		), nil
	}, nil)
	server.AddPrompt(s, "test_prompt_with_image", "A prompt with a picture.", func(context.Context, *mcp.Call, nothing) ([]mcp.PromptMessage, error) {
		return userMessages(mcp.Image(pixel, "image/png"), mcp.Text("Please analyze the image above.")), nil
	}, nil)
	server.AddPrompt(s, "test_input_required_result_prompt", "A prompt that asks the person.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		f, err := server.Elicit[struct {
			Context string `json:"context"`
		}](c, "user_context", "What context should the prompt use?")
		return "Use this context: " + f.Context, err
	}, nil)
}

// userMessages returns one user message for each block.
func userMessages(blocks ...mcp.Content) []mcp.PromptMessage {
	var messages []mcp.PromptMessage
	for _, b := range blocks {
		messages = append(messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: b})
	}
	return messages
}
