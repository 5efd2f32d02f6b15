package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addContentTools adds the tools that only return something.
func addContentTools(s *server.Server) {
	contents := func(name, description string, blocks ...mcp.Content) {
		server.AddTool(s, name, description, func(context.Context, *mcp.Call, nothing) (mcp.Contents, error) {
			return blocks, nil
		}, nil)
	}
	contents("test_simple_text", "Returns one text.",
		mcp.Text("This is a simple text response for testing."))
	contents("test_image_content", "Returns one picture.",
		mcp.Image(pixel, "image/png"))
	contents("test_audio_content", "Returns one sound.",
		mcp.Audio(silence, "audio/wav"))
	contents("test_embedded_resource", "Returns one embedded resource.",
		mcp.Embed(mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}))
	contents("test_multiple_content_types", "Returns a text, a picture and a resource.",
		mcp.Text("Multiple content types test:"),
		mcp.Image(pixel, "image/png"),
		mcp.Embed(mcp.ResourceContents{URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`}))

	server.AddTool(s, "test_error_handling", "Always fails.", func(context.Context, *mcp.Call, nothing) (string, error) {
		return "", errors.New("This tool intentionally returns an error for testing") //lint:ignore ST1005 the suite's words
	}, nil)
	server.AddTool(s, "test_x_mcp_header", "Takes arguments that HTTP clients repeat in headers.", func(_ context.Context, _ *mcp.Call, in headerArgs) (string, error) {
		return fmt.Sprintf("region %q, level %d", in.Region, in.Level), nil
	}, nil)
}

type headerArgs struct {
	Region string `json:"region,omitempty" doc:"where to run" schema:"header=Region"`
	Level  int    `json:"level,omitempty" doc:"how much" schema:"header=Level"`
}

// addSchemaTool adds the tool whose schema has to arrive as it is.
func addSchemaTool(s *server.Server) error {
	return s.AddRawTool(mcp.Tool{
		Name:        "json_schema_2020_12_tool",
		Description: "Tool with JSON Schema 2020-12 features",
		InputSchema: json.RawMessage(addressSchema),
	}, func(_ context.Context, _ *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(args))}}, nil
	})
}

const addressSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {
		"$anchor": "addressDef",
		"type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
	}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

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
	server.AddPrompt(s, "test_input_required_result_prompt", "A prompt that asks the user.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
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
