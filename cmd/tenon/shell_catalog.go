package main

import (
	"context"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	fresh    = 15 * time.Second // how long lists are used for completion without asking again
	patience = 2 * time.Second  // how long a completion may wait for the server
)

// A catalog is what the server has, for completion. Lists that cannot be had
// are empty: nothing is said about it while a person types.
type catalog struct {
	mu        sync.Mutex
	at        time.Time
	tools     []*mcp.Tool
	resources []*mcp.Resource
	templates []*mcp.ResourceTemplate
	prompts   []*mcp.Prompt
}

// forget makes the lists be asked for again.
func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// have returns a copy of the catalog that is fresh enough.
func (c *catalog) have(ctx context.Context, s *session) *catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) > fresh {
		c.tools, _ = client.All(s.Tools(ctx))
		c.resources, _ = client.All(s.Resources(ctx))
		c.templates, _ = client.All(s.ResourceTemplates(ctx))
		c.prompts, _ = client.All(s.Prompts(ctx))
		c.at = time.Now()
	}
	return &catalog{tools: c.tools, resources: c.resources, templates: c.templates, prompts: c.prompts}
}
