package client

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// outputs holds the output schemas of the tools of the last listing.
type outputs struct {
	mu    sync.RWMutex
	known map[string]*output
}

// An output is the output schema of a tool, compiled when it is first needed.
type output struct {
	schema  json.RawMessage
	compile sync.Once
	rules   *schema.Validator
	err     error
}

// learn records the output schema of a tool, or that it has none.
func (o *outputs) learn(t *mcp.Tool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.OutputSchema == nil {
		delete(o.known, t.Name)
		return
	}
	if old := o.known[t.Name]; old != nil && bytes.Equal(old.schema, t.OutputSchema) {
		return
	}
	if o.known == nil {
		o.known = make(map[string]*output)
	}
	o.known[t.Name] = &output{schema: bytes.Clone(t.OutputSchema)}
}

// retain removes the tools that are not in a complete listing.
func (o *outputs) retain(listed map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.known {
		if !listed[name] {
			delete(o.known, name)
		}
	}
}

// of returns the output schema of a tool, or nil. The error means that the
// schema cannot be used.
func (o *outputs) of(tool string) (*output, error) {
	o.mu.RLock()
	p := o.known[tool]
	o.mu.RUnlock()
	if p == nil {
		return nil, nil
	}
	p.compile.Do(func() { p.rules, p.err = schema.NewValidator(p.schema, nil) })
	if p.err != nil {
		return nil, refused("tool %q was not called: invalid output schema: %v (SkipOutputCheck disables the check)", clip(tool), p.err)
	}
	return p, nil
}

// check validates structured content against the schema.
func (p *output) check(tool string, structured json.RawMessage) error {
	if structured == nil {
		return invalid(mcp.MethodToolsCall, tool, "the tool has an output schema, but the result has no structuredContent")
	}
	if err := p.rules.Check(structured); err != nil {
		return invalid(mcp.MethodToolsCall, tool, "structuredContent violates the output schema of the tool: %v", err)
	}
	return nil
}
