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
