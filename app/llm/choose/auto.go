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

// Providers lists the names of the providers that need no settings, in the order
// in which auto asks them.
func Providers() []string {
	var names []string
	for _, p := range known() {
		names = append(names, p.Name)
	}
	return names
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

// survey looks for providers that could be used. The lists are those of servers
// on this machine, by provider.
func (c *chooser) survey(ctx context.Context) ([]Found, map[string][]listed) {
	found := make([]Found, len(c.providers))
	asked := make([][]listed, len(c.providers))
	var wait sync.WaitGroup
	for i, p := range c.providers {
		key, where, err := c.key(p)
		switch {
		case err != nil:
			found[i] = Found{Provider: p.Name, Where: "the keyring", Problem: err.Error()}
		case p.Local:
			wait.Go(func() { found[i], asked[i] = c.knock(ctx, p, key) })
		case key != "":
			found[i] = Found{Provider: p.Name, Where: where}
		}
	}
	wait.Wait()
	lists := map[string][]listed{}
	for i, f := range found {
		lists[f.Provider] = asked[i]
	}
	return slices.DeleteFunc(found, func(f Found) bool { return f.Provider == "" }), lists
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

// auto takes the provider of the first key that is found, or else the first
// server on this machine. A key that does not work is an error, because the person
// who set it wants that provider, and not another one or none.
func (c *chooser) auto(ctx context.Context) (*Choice, error) {
	found, lists := c.survey(ctx)
	slices.SortStableFunc(found, func(a, b Found) int { return order(a.Local) - order(b.Local) })
	var problems []string
	var choice *Choice
	for _, f := range found {
		switch {
		case f.Problem != "":
			problems = append(problems, fmt.Sprintf("%s (%s): %s", f.Provider, f.Where, f.Problem))
		case choice != nil:
			choice.Also = append(choice.Also, f.Provider)
		default:
			made, err := c.take(ctx, f, lists[f.Provider])
			if err != nil && !f.Local {
				return nil, fmt.Errorf("%w; or choose another model with --model, or --model none for none", &KeyError{Provider: f.Provider, Where: f.Where, Err: err})
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s (%s): %v", f.Provider, f.Where, err))
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

func order(local bool) int {
	if local {
		return 1
	}
	return 0
}

// A KeyError says that a key was found and does not work. Err is the reason, an
// *llm.Error where the provider gave one.
type KeyError struct {
	Provider string
	Where    string // the environment variable, or "the keyring"
	Err      error
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("use the key in %s: %v", e.Where, e.Err)
}

// Unwrap returns the reason.
func (e *KeyError) Unwrap() error { return e.Err }

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
