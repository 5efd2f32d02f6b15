package choose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
)

// A Found is a provider found by [Survey].
type Found struct {
	Provider string
	Where    string   // source of the key (a variable or the keyring), or address of the server
	Models   []string // of a local server
	Problem  string   // why the provider cannot be used, or ""
	Local    bool
}

// Survey looks for API keys and probes servers on this machine concurrently,
// each for at most Options.Probe. It sends nothing to remote providers.
func Survey(ctx context.Context, o *Options) []Found {
	c := newChooser(o)
	found, _ := c.survey(ctx)
	return found
}

// Providers returns the names of the built-in providers in the order in which
// auto tries them.
func Providers() []string {
	var names []string
	for _, p := range known() {
		names = append(names, p.Name)
	}
	return names
}

// Known returns the built-in providers in the order in which auto tries them.
func Known() []Provider { return slices.Clone(known()) }

// Models returns the names of a provider's models.
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

// survey also returns the model lists of local servers by provider.
func (c *chooser) survey(ctx context.Context) ([]Found, map[string][]listed) {
	found := make([]Found, len(c.providers))
	models := make([][]listed, len(c.providers))
	var wait sync.WaitGroup
	for i, p := range c.providers {
		if p.Problem != "" {
			found[i] = Found{Provider: p.Name, Where: "tenon.json", Problem: p.Problem}
			continue
		}
		key, where, err := c.key(p)
		switch {
		case err != nil && p.FindKey != nil:
			found[i] = Found{Provider: p.Name, Where: "tenon.json", Problem: err.Error()}
		case err != nil:
			found[i] = Found{Provider: p.Name, Where: "the keyring", Problem: err.Error()}
		case p.Local:
			wait.Go(func() { found[i], models[i] = c.probeLocal(ctx, p, key) })
		case key != "":
			found[i] = Found{Provider: p.Name, Where: where}
		case p.Keyless:
			found[i] = Found{Provider: p.Name, Where: hostOf(p.BaseURL)}
		}
	}
	wait.Wait()
	lists := map[string][]listed{}
	for i, f := range found {
		lists[f.Provider] = models[i]
	}
	return slices.DeleteFunc(found, func(f Found) bool { return f.Provider == "" }), lists
}

// probeLocal requests the model list of a local server. It returns a zero Found
// if no such server answers.
func (c *chooser) probeLocal(ctx context.Context, p Provider, key string) (Found, []listed) {
	ctx, cancel := context.WithTimeout(ctx, c.probe)
	defer cancel()
	f := Found{Provider: p.Name, Where: strings.TrimSuffix(p.BaseURL, "/v1"), Local: true}
	list, err := c.list(ctx, p, key)
	if err != nil {
		if llm.KindOf(err) == llm.ErrAuth {
			f.Problem = "it requires an API key"
			return f, nil
		}
		return Found{}, nil
	}
	for _, l := range list {
		f.Models = append(f.Models, l.ID)
	}
	if _, ok := p.suggest(list); !ok {
		f.Problem = "it is running but has no model; load or pull one"
	}
	return f, list
}

// auto uses the provider of the first key found, or else the first local server.
// A key that does not work is an error, because the user who set it expects that
// provider.
func (c *chooser) auto(ctx context.Context) (*Choice, error) {
	found, lists := c.survey(ctx)
	slices.SortStableFunc(found, func(a, b Found) int {
		if a.Local == b.Local {
			return 0
		} else if b.Local {
			return -1
		}
		return 1
	})
	var problems []string
	var choice *Choice
	for _, f := range found {
		switch {
		case f.Problem != "":
			problems = append(problems, fmt.Sprintf("%s (%s): %s", f.Provider, f.Where, f.Problem))
		case choice != nil:
			choice.Also = append(choice.Also, f.Provider)
		default:
			made, err := c.use(ctx, f, lists[f.Provider])
			if err != nil && !f.Local {
				return nil, fmt.Errorf("%w; or choose another model with --model, or --model none", &KeyError{Provider: f.Provider, Where: f.Where, Err: err})
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s (%s): %v", f.Provider, f.Where, err))
			}
			choice = made
		}
	}
	if choice != nil {
		if len(problems) > 0 {
			choice.Why += "; skipped: " + strings.Join(problems, "; ")
		}
		return choice, nil
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w can be used: %s", ErrNone, strings.Join(problems, "; "))
	}
	return nil, fmt.Errorf("%w was found: no key is set (%s) and no local server answers (%s)", ErrNone, c.keyNames(), c.localNames())
}

// A KeyError is the error of a key that was found and does not work. Err is an
// *llm.Error if the provider returned one.
type KeyError struct {
	Provider string
	Where    string // the environment variable, or "the keyring"
	Err      error
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("use the key in %s: %v", e.Where, e.Err)
}

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

func (c *chooser) use(ctx context.Context, f Found, list []listed) (*Choice, error) {
	p, _ := c.find(f.Provider)
	key, where, err := c.key(p)
	if err != nil {
		return nil, err
	}
	why := fmt.Sprintf("found the key for %s in %s", p.Name, where)
	if p.Local {
		why = fmt.Sprintf("%s is running at %s", p.Name, f.Where)
	} else if list, err = c.list(ctx, p, key); err != nil {
		return nil, err
	}
	m, ok := p.suggest(list)
	if !ok {
		return nil, errors.New("it has no chat model")
	}
	if len(list) > 1 {
		why += fmt.Sprintf("; chosen from its %d models", len(list))
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
