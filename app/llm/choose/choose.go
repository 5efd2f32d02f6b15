// Package choose makes a model of a name.
//
//	anthropic/claude-sonnet-4-5    a provider and its name for the model
//	ollama                         a provider; the model is the one it would suggest
//	auto, or ""                    what keys and local servers are found
//	none                           no model: the error is ErrNone
//	script:FILE                    a conversation written by hand
//	replay:FILE                    a recorded conversation
//	record:FILE:MODEL              any of the above, recorded
package choose

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/script"
)

// ErrNone says that there is to be no model, or that nothing is configured: no key
// is set and no server on this machine can be used. The caller goes on without a
// model. A key that was found and does not work is a [KeyError] instead.
var ErrNone = errors.New("no model")

// Options say where to look. Nil is fine.
type Options struct {
	Getenv  func(string) string                   // nil means os.Getenv
	Keyring func(provider string) (string, error) // asked when the environment has no key; nil means no keyring. An empty key means that it has none
	Client  *http.Client                          // nil means one of our own

	// Providers are more providers, or other settings for known ones, by name.
	Providers map[string]Provider

	// Probe is how long a server on this machine may take to say that it is
	// there; 0 means 400 ms.
	Probe time.Duration

	// Attempts is how often a request is sent in all; 0 means 5.
	Attempts int
}

// A Choice is a model and why it is the one.
type Choice struct {
	Model llm.Model
	Why   string   // as in "ANTHROPIC_API_KEY is set"
	Also  []string // what else was found, as names that Model understands
	Close func() error
}

// Model makes the model of a name. The error is ErrNone for "none", wraps
// ErrNone if auto finds nothing, is a *KeyError if auto finds a key that does not
// work, and otherwise says what is wrong with the name or what is missing.
func Model(ctx context.Context, name string, o *Options) (*Choice, error) {
	c := newChooser(o)
	name = strings.TrimSpace(name)
	switch kind, rest, _ := strings.Cut(name, ":"); kind {
	case "none":
		return nil, ErrNone
	case "auto", "":
		return c.auto(ctx)
	case "script":
		return played(script.Open(rest, nil))
	case "replay":
		return played(script.Replay(rest, nil))
	case "record":
		return c.record(ctx, rest)
	}
	return c.named(ctx, name)
}

func played(p *script.Player, err error) (*Choice, error) {
	if err != nil {
		return nil, err
	}
	return &Choice{Model: p, Why: "it was asked for", Close: func() error { return nil }}, nil
}

// record splits FILE:MODEL. The file may have colons in it (C:\x), and so may a
// model (qwen3:8b): the first colon after which a model is named counts.
func (c *chooser) record(ctx context.Context, rest string) (*Choice, error) {
	for i := range len(rest) {
		if rest[i] != ':' || i == 0 || i == 1 && len(rest) > 2 && (rest[2] == '\\' || rest[2] == '/') {
			continue
		}
		file, name := rest[:i], rest[i+1:]
		inner, err := Model(ctx, name, c.opts)
		if err != nil {
			return nil, err
		}
		r, err := script.Record(file, inner.Model, nil)
		if err != nil {
			return nil, errors.Join(err, inner.Close())
		}
		inner.Model, inner.Why = r, inner.Why+"; recorded in "+file
		inner.Close = r.Close
		return inner, nil
	}
	return nil, fmt.Errorf("record:%s names no model: write record:FILE:provider/name, as in record:talk.jsonl:anthropic/claude-sonnet-4-5", rest)
}

type chooser struct {
	opts      *Options
	getenv    func(string) string
	providers []Provider
	client    *http.Client
	probe     time.Duration
}

func newChooser(o *Options) *chooser {
	if o == nil {
		o = &Options{}
	}
	c := &chooser{opts: o, getenv: o.Getenv, client: o.Client, probe: o.Probe}
	if c.getenv == nil {
		c.getenv = os.Getenv
	}
	if c.client == nil {
		c.client = &http.Client{}
	}
	if c.client.CheckRedirect == nil { // a key would go along
		own := *c.client
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.client = &own
	}
	if c.probe == 0 {
		c.probe = 400 * time.Millisecond
	}
	c.providers = c.merge(o.Providers)
	return c
}

// merge lays the caller's providers over the known ones.
func (c *chooser) merge(more map[string]Provider) []Provider {
	all := slices.Clone(known())
	names := make([]string, 0, len(more))
	for name := range more {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := more[name]
		p.Name = name
		if i := slices.IndexFunc(all, func(k Provider) bool { return k.Name == name }); i >= 0 {
			all[i] = all[i].with(p)
			continue
		}
		all = append(all, p)
	}
	for i := range all {
		if v := all[i].URLVariable; v != "" && c.getenv(v) != "" {
			all[i].BaseURL = all[i].fixURL(c.getenv(v))
		}
	}
	return all
}

func (c *chooser) find(name string) (Provider, bool) {
	for _, p := range c.providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// named makes provider/name.
func (c *chooser) named(ctx context.Context, name string) (*Choice, error) {
	head, model, has := strings.Cut(name, "/")
	p, ok := c.find(head)
	if !ok {
		return nil, c.unknown(name, head)
	}
	key, where, err := c.key(p)
	if err != nil {
		return nil, err
	}
	if key == "" && !p.Local && !p.Keyless {
		return nil, fmt.Errorf("no API key for %s: set %s, or put one into the keyring", p.Name, strings.Join(p.KeyVariables, " or "))
	}
	why := "it was asked for"
	found := listed{}
	if !has || model == "" {
		list, err := c.list(ctx, p, key)
		if err != nil {
			return nil, err
		}
		if found, ok = p.suggest(list); !ok {
			return nil, fmt.Errorf("%s offers no model to talk to: name one, as in %s/NAME", p.Name, p.Name)
		}
		why = fmt.Sprintf("%s was asked for, and this is what it offers", p.Name)
	} else {
		found.ID = model
		if p.Local || p.Lists {
			found = c.look(ctx, p, key, model)
		}
	}
	if where != "" {
		why += "; key from " + where
	}
	found = c.askOllama(ctx, p, found)
	return &Choice{Model: c.build(p, key, found), Why: why, Close: func() error { return nil }}, nil
}

func (c *chooser) unknown(name, head string) error {
	var names []string
	for _, p := range c.providers {
		names = append(names, p.Name)
	}
	hint := ""
	switch {
	case strings.HasPrefix(head, "claude"):
		hint = " Did you mean anthropic/" + name + "?"
	case strings.HasPrefix(head, "gpt") || strings.HasPrefix(head, "o3") || strings.HasPrefix(head, "o4"):
		hint = " Did you mean openai/" + name + "?"
	case strings.HasPrefix(head, "gemini-"):
		hint = " Did you mean gemini/" + name + "?"
	}
	return fmt.Errorf("%q is no model: write provider/name, where the provider is one of %s; or auto, none, script:FILE, replay:FILE, record:FILE:MODEL.%s", name, strings.Join(names, ", "), hint)
}

// key finds the key of a provider and says where.
func (c *chooser) key(p Provider) (key, where string, err error) {
	if p.Key != "" {
		return p.Key, "the configuration", nil
	}
	for _, v := range p.KeyVariables {
		if k := strings.TrimSpace(c.getenv(v)); k != "" {
			return k, v, nil
		}
	}
	if c.opts.Keyring == nil || len(p.KeyVariables) == 0 && !p.Keyed {
		return "", "", nil
	}
	k, err := c.opts.Keyring(p.Name)
	if err != nil {
		return "", "", fmt.Errorf("the key of %s cannot be read from the keyring: %w", p.Name, err)
	}
	if k = strings.TrimSpace(k); k != "" {
		return k, "the keyring", nil
	}
	return "", "", nil
}
