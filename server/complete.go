package server

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// A CompleteFunc says what an argument could become. value is what is there so
// far, and others are the arguments that are filled in already; it is nil when
// the client does not say. The best come first; more than the protocol allows
// are cut off.
type CompleteFunc func(ctx context.Context, c *mcp.Call, value string, others map[string]string) ([]string, error)

// completers are those of one prompt or template, by argument.
type completers struct {
	mu   sync.RWMutex
	funs map[string]CompleteFunc
}

func (c *completers) set(argument string, f CompleteFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.funs == nil {
		c.funs = map[string]CompleteFunc{}
	}
	c.funs[argument] = f
}

func (c *completers) get(argument string) CompleteFunc {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.funs[argument]
}

// oneOf completes from a fixed set of choices.
func oneOf(choices []string) CompleteFunc {
	return func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
		var out []string
		for _, choice := range choices {
			if strings.HasPrefix(strings.ToLower(choice), strings.ToLower(value)) {
				out = append(out, choice)
			}
		}
		return out, nil
	}
}

// CompletePrompt has f complete an argument of a prompt.
func (s *Server) CompletePrompt(name, argument string, f CompleteFunc) error {
	p := s.prompts.get(name)
	if p == nil {
		return fmt.Errorf("there is no prompt %q to complete: add it first", name)
	}
	if _, ok := p.arguments[argument]; !ok {
		return fmt.Errorf("prompt %q has no argument %q", name, argument)
	}
	p.completes.set(argument, f)
	return nil
}

// CompleteTemplate has f complete a variable of a resource template.
func (s *Server) CompleteTemplate(uriTemplate, variable string, f CompleteFunc) error {
	t := s.templates.get(uriTemplate)
	if t == nil {
		return fmt.Errorf("there is no resource template %q to complete: add it first", uriTemplate)
	}
	for _, name := range t.uri.Names() {
		if name == variable {
			t.completes.set(variable, f)
			return nil
		}
	}
	return fmt.Errorf("resource template %q has no variable %q", uriTemplate, variable)
}

// complete serves completion/complete.
func (s *Server) complete(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if s.offers().Completions == nil {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	var in mcp.CompleteParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	from, err := s.completersOf(&c.Caller, in.Ref)
	if err != nil {
		return mcp.Result{}, err
	}
	values := []string{}
	if f := from.get(in.Argument.Name); f != nil {
		var others map[string]string
		if in.Context != nil {
			others = in.Context.Arguments
		}
		if values, err = f(ctx, c, in.Argument.Value, others); err != nil {
			return mcp.Result{}, err
		}
	}
	return result(mcp.CompleteResult{Completion: mcp.Completions(values)})
}

func (s *Server) completersOf(c *mcp.Caller, ref mcp.CompletionRef) (*completers, error) {
	switch ref.Type {
	case mcp.RefPrompt:
		if p := s.prompts.get(ref.Name); p != nil && s.allows(c, KindPrompt, ref.Name) {
			return &p.completes, nil
		}
		return nil, mcp.InvalidParams("unknown prompt %q", ref.Name)
	case mcp.RefResource:
		if t := s.templates.get(ref.URI); t != nil && s.allows(c, KindTemplate, ref.URI) {
			return &t.completes, nil
		}
		if r := s.resources.get(ref.URI); r != nil && s.allows(c, KindResource, ref.URI) {
			return &completers{}, nil // there is nothing to fill in
		}
		return nil, mcp.InvalidParams("unknown resource template %q", ref.URI)
	}
	return nil, mcp.InvalidParams("ref.type is %q: expected %q or %q", ref.Type, mcp.RefPrompt, mcp.RefResource)
}
