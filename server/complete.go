package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

// A CompleteFunc returns the possible values of an argument, best first. value
// is what the user has typed so far; others holds the arguments that already
// have a value, or is nil if the client does not send them. Values after the
// first 100 are dropped. A CompleteFunc cannot request input.
type CompleteFunc func(ctx context.Context, c *mcp.Call, value string, others map[string]string) ([]string, error)

// completers holds the CompleteFuncs of one prompt or template, by argument.
type completers struct {
	mu   sync.RWMutex
	funs map[string]CompleteFunc
}

// A completable has arguments that can be completed.
type completable struct {
	what string // for errors
	has  func(argument string) bool
	from *completers
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

// oneOf returns a CompleteFunc for a fixed set of choices.
func oneOf(choices []string) CompleteFunc {
	return func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
		value = strings.ToLower(value)
		var out []string
		for _, choice := range choices {
			if strings.HasPrefix(strings.ToLower(choice), value) {
				out = append(out, choice)
			}
		}
		return out, nil
	}
}

// CompletePrompt sets the CompleteFunc of an argument of a prompt. The prompt
// must have been added; replacing it removes the function.
func (s *Server) CompletePrompt(name, argument string, f CompleteFunc) error {
	p := s.prompts.get(name)
	if p == nil {
		return fmt.Errorf("complete prompt %q: no such prompt; add it first", name)
	}
	return p.completable(name).set(argument, f)
}

// CompleteTemplate sets the CompleteFunc of a variable of a resource template.
// The template must have been added; replacing it removes the function.
func (s *Server) CompleteTemplate(uriTemplate, variable string, f CompleteFunc) error {
	t := s.templates.get(uriTemplate)
	if t == nil {
		return fmt.Errorf("complete resource template %q: no such template; add it first", uriTemplate)
	}
	return t.completable().set(variable, f)
}

func (p *prompt) completable(name string) completable {
	has := func(argument string) bool { _, ok := p.arguments[argument]; return ok }
	return completable{fmt.Sprintf("prompt %q", name), has, &p.completes}
}

func (t *template) completable() completable {
	has := func(variable string) bool { return slices.Contains(t.uri.Names(), variable) }
	return completable{fmt.Sprintf("resource template %q", t.uri), has, &t.completes}
}

func (c completable) set(argument string, f CompleteFunc) error {
	if !c.has(argument) {
		return fmt.Errorf("%s has no argument %q", c.what, argument)
	}
	if f == nil {
		return fmt.Errorf("%s: the CompleteFunc of %q is nil", c.what, argument)
	}
	c.from.set(argument, f)
	return nil
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
	to, err := s.completableOf(&c.Caller, in.Ref)
	if err != nil {
		return mcp.Result{}, err
	}
	if !to.has(in.Argument.Name) {
		return mcp.Result{}, mcp.InvalidParams("%s has no argument %q", to.what, in.Argument.Name)
	}
	var values []string
	if f := to.from.get(in.Argument.Name); f != nil {
		var others map[string]string
		if in.Context != nil {
			others = in.Context.Arguments
		}
		values, err = f(ctx, c, in.Argument.Value, others)
		if _, asks := errors.AsType[*mcp.InputRequired](err); asks {
			err = errors.New("a completion cannot request input")
		}
	}
	var res mcp.Result
	if err == nil {
		res, err = result(mcp.CompleteResult{Completion: protocol.Completions(values)})
	}
	if err != nil {
		return mcp.Result{}, s.failed(ctx, c, "completion of "+to.what, err)
	}
	return res, nil
}

func (s *Server) completableOf(c *mcp.Caller, ref mcp.CompletionRef) (completable, error) {
	switch ref.Type {
	case mcp.RefPrompt:
		if p := s.prompts.get(ref.Name); p != nil && s.allows(c, KindPrompt, ref.Name) {
			return p.completable(ref.Name), nil
		}
		return completable{}, mcp.InvalidParams("unknown prompt %q", ref.Name)
	case mcp.RefResource:
		if t := s.templates.get(ref.URI); t != nil && s.allows(c, KindTemplate, ref.URI) {
			return t.completable(), nil
		}
		if r := s.resources.get(ref.URI); r != nil && s.allows(c, KindResource, ref.URI) {
			anything := func(string) bool { return true } // there is nothing to complete
			return completable{fmt.Sprintf("resource %q", ref.URI), anything, &completers{}}, nil
		}
		return completable{}, mcp.InvalidParams("unknown resource template %q", ref.URI)
	}
	return completable{}, mcp.InvalidParams("ref.type is %q: expected %q or %q", ref.Type, mcp.RefPrompt, mcp.RefResource)
}
