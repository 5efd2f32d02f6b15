package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// A CompleteFunc says what an argument could become. value is what is there so
// far, and others are the arguments that are filled in already; it is nil when
// the client does not say. The best come first; more than the protocol allows
// are cut off. It cannot ask the person: the protocol has no place for it.
type CompleteFunc func(ctx context.Context, c *mcp.Call, value string, others map[string]string) ([]string, error)

// completers are those of one prompt or template, by argument.
type completers struct {
	mu   sync.RWMutex
	funs map[string]CompleteFunc
}

// A completable is something with arguments that can be completed.
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

// oneOf completes from a fixed set of choices.
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

// CompletePrompt has f complete an argument of a prompt that was added. It is
// forgotten when another prompt takes the place of that one.
func (s *Server) CompletePrompt(name, argument string, f CompleteFunc) error {
	p := s.prompts.get(name)
	if p == nil {
		return fmt.Errorf("there is no prompt %q to complete: add it first", name)
	}
	return p.completable(name).set(argument, f)
}

// CompleteTemplate has f complete a variable of a resource template that was
// added. It is forgotten when another template takes the place of that one.
func (s *Server) CompleteTemplate(uriTemplate, variable string, f CompleteFunc) error {
	t := s.templates.get(uriTemplate)
	if t == nil {
		return fmt.Errorf("there is no resource template %q to complete: add it first", uriTemplate)
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
		return fmt.Errorf("%s: the func that completes %q is nil", c.what, argument)
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
			err = errors.New("a completion cannot ask the caller")
		}
	}
	var res mcp.Result
	if err == nil {
		res, err = result(mcp.CompleteResult{Completion: mcp.Completions(values)})
	}
	if err != nil {
		return mcp.Result{}, s.failed(ctx, c, "the completion of "+to.what, err)
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
			anything := func(string) bool { return true } // there is nothing to fill in
			return completable{fmt.Sprintf("resource %q", ref.URI), anything, &completers{}}, nil
		}
		return completable{}, mcp.InvalidParams("unknown resource template %q", ref.URI)
	}
	return completable{}, mcp.InvalidParams("ref.type is %q: expected %q or %q", ref.Type, mcp.RefPrompt, mcp.RefResource)
}
