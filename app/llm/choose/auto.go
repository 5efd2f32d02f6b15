package choose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
)

// A Found is a provider that could be used.
type Found struct {
	Provider string
	Where    string   // the variable or keyring the key is from, or the address of the server
	Models   []string // what it offers, if it was asked
	Problem  string   // why it cannot be used after all
	Local    bool
}

// Survey looks for keys and for servers on this machine, at the same time, and
// takes no longer than the slowest answer or Options.Probe. Providers far away
// are not asked anything.
func Survey(ctx context.Context, o *Options) []Found {
	c := newChooser(o)
	found, _ := c.survey(ctx)
	return found
}

// Models asks one provider what it offers, for a list to choose from.
func Models(ctx context.Context, provider string, o *Options) ([]string, error) {
	c := newChooser(o)
	p, ok := c.find(provider)
	if !ok {
		return nil, c.unknown(provider, provider)
	}
	key, _, err := c.key(p)
	if err != nil {
		return nil, err
	}
	list, err := c.list(ctx, p, key)
	var names []string
	for _, l := range list {
		names = append(names, l.ID)
	}
	return names, err
}

func (c *chooser) survey(ctx context.Context) ([]Found, [][]listed) {
	found := make([]Found, len(c.providers))
	lists := make([][]listed, len(c.providers))
	var wait sync.WaitGroup
	for i, p := range c.providers {
		key, where, err := c.key(p)
		switch {
		case err != nil:
			found[i] = Found{Provider: p.Name, Where: "the keyring", Problem: err.Error()}
		case p.Local:
			wait.Go(func() { found[i], lists[i] = c.knock(ctx, p, key) })
		case key != "":
			found[i] = Found{Provider: p.Name, Where: where}
		}
	}
	wait.Wait()
	for i := len(found) - 1; i >= 0; i-- {
		if found[i].Provider == "" {
			found, lists = slices.Delete(found, i, i+1), slices.Delete(lists, i, i+1)
		}
	}
	return found, lists
}

// knock asks a server on this machine whether it is there.
func (c *chooser) knock(ctx context.Context, p Provider, key string) (Found, []listed) {
	ctx, cancel := context.WithTimeout(ctx, c.probe)
	defer cancel()
	f := Found{Provider: p.Name, Where: strings.TrimSuffix(p.BaseURL, "/v1"), Local: true}
	list, err := c.list(ctx, p, key)
	if err != nil {
		if kind := llm.KindOf(err); kind == llm.ErrAuth {
			f.Problem = "it wants a key"
			return f, nil
		}
		return Found{}, nil // something else, or nothing
	}
	for _, l := range list {
		f.Models = append(f.Models, l.ID)
	}
	if _, ok := p.suggest(list); !ok {
		f.Problem = "it is running, but has no model: load or pull one"
	}
	return f, list
}

// auto takes the first key, or else the first server on this machine.
func (c *chooser) auto(ctx context.Context) (*Choice, error) {
	found, lists := c.survey(ctx)
	var problems []string
	var choice *Choice
	for _, local := range []bool{false, true} {
		for i, f := range found {
			if f.Local != local {
				continue
			}
			if f.Problem != "" {
				problems = append(problems, fmt.Sprintf("%s (%s): %s", f.Provider, f.Where, f.Problem))
				continue
			}
			if choice != nil {
				choice.Also = append(choice.Also, f.Provider)
				continue
			}
			made, err := c.take(ctx, f, lists[i])
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s (%s): %v", f.Provider, f.Where, err))
				continue
			}
			choice = made
		}
	}
	if choice != nil {
		if len(problems) > 0 {
			choice.Why += "; passed over: " + strings.Join(problems, "; ")
		}
		return choice, nil
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w can be used: %s", ErrNone, strings.Join(problems, "; "))
	}
	return nil, fmt.Errorf("%w was found: no key is set (%s) and no local server answers (%s)", ErrNone, c.keyNames(), c.localNames())
}

func (c *chooser) take(ctx context.Context, f Found, list []listed) (*Choice, error) {
	p, _ := c.find(f.Provider)
	key, where, err := c.key(p)
	if err != nil {
		return nil, err
	}
	why := fmt.Sprintf("the key of %s was found in %s", p.Name, where)
	if p.Local {
		why = fmt.Sprintf("%s answers at %s", p.Name, f.Where)
	} else if list, err = c.list(ctx, p, key); err != nil {
		return nil, err
	}
	m, ok := p.suggest(list)
	if !ok {
		return nil, fmt.Errorf("it offers no model to talk to")
	}
	if len(list) > 1 {
		why += fmt.Sprintf(", and of its %d models this one was taken", len(list))
	}
	m = c.askOllama(ctx, p, m)
	return &Choice{Model: c.build(p, key, m), Why: why, Close: func() error { return nil }}, nil
}

func (c *chooser) keyNames() string {
	var names []string
	for _, p := range c.providers {
		if len(p.KeyVariables) > 0 && !p.Local {
			names = append(names, p.KeyVariables[0])
		}
	}
	return strings.Join(names, ", ")
}

func (c *chooser) localNames() string {
	var names []string
	for _, p := range c.providers {
		if p.Local {
			names = append(names, p.Name+" at "+strings.TrimSuffix(p.BaseURL, "/v1"))
		}
	}
	return strings.Join(names, ", ")
}
