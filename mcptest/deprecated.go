package mcptest

import "github.com/tenon-mcp/tenon/mcp"

// This file holds what the 2026 revision deprecates: sampling, roots, logging.

// ableToo adds the deprecated capabilities of a client.
func ableToo(c *mcp.ClientCapabilities) {
	c.Sampling = &mcp.SamplingCapability{Context: mcp.Settings{}, Tools: mcp.Settings{}}
	c.Roots = &mcp.RootsCapability{}
}

// wantLog returns a function that makes a call ask for log messages.
func wantLog(level string) (func(*mcp.Call), error) {
	l, err := mcp.ParseLogLevel(level)
	return func(c *mcp.Call) { c.Caller.LogLevel = l }, err
}
