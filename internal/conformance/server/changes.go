package main

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addChangeTools adds the tools that change the lists of the server: each call
// adds or removes a feature in turn.
func addChangeTools(s *server.Server) {
	var mu sync.Mutex
	const extra = "test_extra"
	server.AddTool(s, "test_trigger_tool_change", "Adds a tool, or removes it again.", func(context.Context, *mcp.Call, nothing) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if s.RemoveTools(extra) == 0 {
			server.AddTool(s, extra, "Comes and goes.", func(context.Context, *mcp.Call, nothing) (string, error) { return "here", nil }, nil)
		}
		return "The tools have changed.", nil
	}, nil)
	server.AddTool(s, "test_trigger_prompt_change", "Adds a prompt, or removes it again.", func(context.Context, *mcp.Call, nothing) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if s.RemovePrompts(extra) == 0 {
			server.AddPrompt(s, extra, "Comes and goes.", func(context.Context, *mcp.Call, nothing) (string, error) { return "here", nil }, nil)
		}
		return "The prompts have changed.", nil
	}, nil)
}
