package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
)

type scenario = func(context.Context, *client.Client) error

// scenarios are the scenarios without authorization.
var scenarios = map[string]scenario{
	"initialize":                          listTools,
	"request-metadata":                    listTools,
	"json-schema-ref-no-deref":            listTools,
	"tools_call":                          call("add_numbers", map[string]any{"a": 5, "b": 3}),
	"elicitation-sep1034-client-defaults": call("test_client_elicitation_defaults", nil),
	"sse-retry":                           call("test_reconnection", nil),
	"sep-2322-client-request-state":       rounds,
	"http-standard-headers":               everything,
	"http-custom-headers":                 suiteCalls,
	"http-invalid-tool-headers":           callAllTools,
	"json-schema-2020-12-preservation":    echoSchema,
	"sep-2640-client-no-prefetch":         listSkills,
	"sep-2640-client-verify-digest":       loadSkill,
	"sep-2640-client-verify-size":         loadSkill,
	"sep-2640-client-verify-frontmatter":  loadSkill,
}

func listTools(ctx context.Context, c *client.Client) error {
	_, err := client.All(c.Tools(ctx))
	return err
}

// call lists the tools and calls one of them.
func call(name string, args map[string]any) scenario {
	return func(ctx context.Context, c *client.Client) error {
		if err := listTools(ctx, c); err != nil {
			return err
		}
		return callTool(ctx, c, name, args)
	}
}

func callTool(ctx context.Context, c *client.Client, name string, args any) error {
	res, err := c.CallTool(ctx, name, args, nil)
	if err != nil {
		return err
	}
	if res.IsError {
		return fmt.Errorf("tool %s failed: %v", name, res.Content)
	}
	return nil
}

// rounds calls tools that require input in several ways.
func rounds(ctx context.Context, c *client.Client) error {
	if err := listTools(ctx, c); err != nil {
		return err
	}
	for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
		if err := callTool(ctx, c, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// everything uses the first feature of each kind of the server.
func everything(ctx context.Context, c *client.Client) error {
	tools, err := client.All(c.Tools(ctx))
	if err != nil {
		return err
	}
	for _, t := range tools {
		if err := callTool(ctx, c, t.Name, nil); err != nil {
			return err
		}
	}
	resources, err := client.All(c.Resources(ctx))
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := c.ReadResource(ctx, r.URI); err != nil {
			return err
		}
	}
	prompts, err := client.All(c.Prompts(ctx))
	if err != nil {
		return err
	}
	for _, p := range prompts {
		if _, err := c.GetPrompt(ctx, p.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// suiteCalls makes the calls that the suite requests.
func suiteCalls(ctx context.Context, c *client.Client) error {
	var params struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := mcp.Unmarshal([]byte(os.Getenv(contextVar)), &params); err != nil {
		return fmt.Errorf("%s: %w", contextVar, err)
	}
	if err := listTools(ctx, c); err != nil {
		return err
	}
	for _, t := range params.ToolCalls {
		if err := callTool(ctx, c, t.Name, t.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAllTools calls every listed tool.
func callAllTools(ctx context.Context, c *client.Client) error {
	tools, err := client.All(c.Tools(ctx))
	if err != nil {
		return err
	}
	for _, t := range tools {
		if err := callTool(ctx, c, t.Name, map[string]any{"region": "us-west1"}); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema passes the schema of one tool to another unchanged.
func echoSchema(ctx context.Context, c *client.Client) error {
	tools, err := client.All(c.Tools(ctx))
	if err != nil {
		return err
	}
	var seen []string
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			return callTool(ctx, c, "json_schema_echo", map[string]json.RawMessage{"schema": t.InputSchema})
		}
		seen = append(seen, t.Name)
	}
	return fmt.Errorf("the server has no tool json_schema_2020_12_tool, only %s", strings.Join(seen, ", "))
}

func listSkills(ctx context.Context, c *client.Client) error {
	_, err := client.All(skills.List(ctx, c))
	return err
}

// loadSkill loads the skill of the server and then reads all of its files.
func loadSkill(ctx context.Context, c *client.Client) error {
	for s, err := range skills.List(ctx, c) {
		if err != nil {
			return err
		}
		loaded, err := skills.Load(ctx, c, s)
		if err != nil {
			return err
		}
		for _, r := range s.Resources {
			if _, err := loaded.Read(ctx, r.URI); err != nil {
				return err
			}
		}
	}
	return nil
}
