package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// An Offer says what can be had from a provider.
type Offer struct {
	Provider string      `json:"provider"`
	Models   []ModelSpec `json:"models,omitzero"`
	Where    string      `json:"where,omitzero"` // source of the key, or address of the server
	Why      string      `json:"why,omitzero"`   // why no model can be had, or ""
	Fix      string      `json:"fix,omitzero"`   // what to do about Why, or how to name a model that is not listed
	Local    bool        `json:"local,omitzero"`
}

// catalogTimeout bounds the wait for the list of one provider.
const catalogTimeout = 5 * time.Second

// Catalog asks all providers for their models concurrently, each for at most five
// seconds, and returns an Offer for each in the order of [Providers]. It calls
// found, which may be nil, with each Offer as soon as it is known, one at a time.
func Catalog(ctx context.Context, o *Options, found func(Offer)) []Offer {
	c := newChooser(o)
	all := make([]Offer, len(c.providers))
	var mu sync.Mutex
	var asked sync.WaitGroup
	for i, p := range c.providers {
		key, where, err := "", "", error(nil)
		if p.Problem == "" {
			key, where, err = c.key(p)
		}
		asked.Go(func() {
			all[i] = c.offer(ctx, p, key, where, err)
			if found != nil {
				mu.Lock()
				defer mu.Unlock()
				found(all[i])
			}
		})
	}
	asked.Wait()
	return all
}

// Find returns the Offer of one provider.
func Find(ctx context.Context, provider string, o *Options) (Offer, error) {
	c := newChooser(o)
	p, ok := c.find(provider)
	if !ok {
		return Offer{}, c.unknownProvider(provider)
	}
	key, where, err := "", "", error(nil)
	if p.Problem == "" {
		key, where, err = c.key(p)
	}
	return c.offer(ctx, p, key, where, err), nil
}

// Lookup returns a provider with its settings. Key is not set.
func Lookup(provider string, o *Options) (Provider, error) {
	c := newChooser(o)
	p, ok := c.find(provider)
	if !ok {
		return p, c.unknownProvider(provider)
	}
	return p, nil
}

// FindKey returns the key of a provider and where it is from; "" if there is none.
func FindKey(provider string, o *Options) (key, where string, err error) {
	c := newChooser(o)
	p, ok := c.find(provider)
	if !ok {
		return "", "", c.unknownProvider(provider)
	}
	return c.key(p)
}

// All returns the built-in providers and those of o, in the order in which auto
// tries them.
func All(o *Options) []Provider { return newChooser(o).providers }

// Check asks a provider for its models with a key. A provider without a list of
// models is no error, because it says nothing about the key.
func Check(ctx context.Context, provider, key string, o *Options) error {
	c := newChooser(o)
	p, ok := c.find(provider)
	if !ok {
		return c.unknownProvider(provider)
	}
	if p.Problem != "" {
		return errors.New(p.Problem)
	}
	_, err := c.ask(ctx, p, key)
	if withoutList(err) {
		return nil
	}
	return err
}

func withoutList(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

func (c *chooser) unknownProvider(name string) error {
	var names []string
	for _, p := range c.providers {
		names = append(names, p.Name)
	}
	return fmt.Errorf("unknown provider %q: use one of %s, or add it to providers in tenon.json", name, strings.Join(names, ", "))
}

func (c *chooser) offer(ctx context.Context, p Provider, key, where string, err error) Offer {
	o := Offer{Provider: p.Name, Where: where, Local: p.Local}
	switch {
	case p.Problem != "":
		o.Why = p.Problem
		return o
	case err != nil && p.FindKey != nil:
		o.Why = err.Error()
		return o
	case err != nil:
		o.Why, o.Fix = err.Error(), p.howToSetKey()
		return o
	case key == "" && !p.Local && !p.Keyless:
		o.Why, o.Fix = "no API key", p.howToSetKey()
		return o
	}
	address := strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	if where == "" {
		o.Where = address
	}
	limit := catalogTimeout
	if p.Local {
		limit = c.probe
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	list, err := c.list(ctx, p, key)
	e, _ := errors.AsType[*llm.Error](err)
	switch {
	case withoutList(err):
		o.Fix = fmt.Sprintf("it does not list its models: name one as %s/NAME", p.Name)
	case llm.KindOf(err) == llm.ErrAuth && key == "":
		o.Why, o.Fix = "it requires an API key", p.howToSetKey()
	case llm.KindOf(err) == llm.ErrAuth:
		o.Why, o.Fix = fmt.Sprintf("the key in %s was rejected (HTTP %d)", where, e.Status), p.howToSetKey()
	case ctx.Err() != nil && !p.Local:
		o.Why = fmt.Sprintf("no answer from %s within %s", hostOf(p.BaseURL), limit)
	case llm.KindOf(err) == llm.ErrNetwork:
		o.Why = "nothing answers at " + address
	case err != nil:
		o.Why = err.Error()
	case len(list) == 0:
		o.Why = "it is running but has no model; load or pull one"
	}
	for _, l := range list {
		if notChat().MatchString(l.ID) && p.Models == nil {
			continue
		}
		info := c.build(p, key, l).Info()
		s := l.spec()
		s.Context, s.Efforts, s.Prices = info.Context, info.Efforts, info.Prices
		s.MaxOutput = cmp.Or(l.MaxOutput, info.MaxOutput)
		o.Models = append(o.Models, s)
	}
	if best, ok := p.suggest(list); ok { // the default model first
		slices.SortStableFunc(o.Models, func(a, b ModelSpec) int {
			switch best.ID {
			case a.Name:
				return -1
			case b.Name:
				return 1
			}
			return 0
		})
	}
	return o
}
