package client

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// outputs remembers what the tools of the last listing promise to return.
type outputs struct {
	mu    sync.RWMutex
	known map[string]*output
}

// An output is what one tool promises. It is compiled when it is first needed.
type output struct {
	schema  json.RawMessage
	compile sync.Once
	rules   *schema.Validator
	err     error
}

// learn notes what a tool promises, or that it promises nothing.
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

// keep forgets the tools that a whole listing no longer has.
func (o *outputs) store(listed map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.known {
		if !listed[name] {
			delete(o.known, name)
		}
	}
}

// of returns what a tool promises, or nil. The error is for a promise that
// nobody could check.
func (o *outputs) of(tool string) (*output, error) {
	o.mu.RLock()
	p := o.known[tool]
	o.mu.RUnlock()
	if p == nil {
		return nil, nil
	}
	p.compile.Do(func() { p.rules, p.err = schema.NewValidator(p.schema, nil) })
	if p.err != nil {
		return nil, refused("tool %q was not called: its output schema cannot be used (%v); set SkipOutputCheck to take its results unchecked", clip(tool), p.err)
	}
	return p, nil
}

// check holds a structured result against the promise.
func (p *output) check(tool string, structured json.RawMessage) error {
	if structured == nil {
		return invalid(mcp.MethodToolsCall, tool, "the tool has an output schema, but the result has no structuredContent")
	}
	if err := p.rules.Check(structured); err != nil {
		return invalid(mcp.MethodToolsCall, tool, "structuredContent does not fit the output schema of the tool: %v", err)
	}
	return nil
}
