// Package choose makes a model from a name:
//
//	anthropic/claude-sonnet-4-5    a provider and its name for the model
//	ollama                         a provider; its default model
//	auto, or ""                    the first provider with a key, or a local server
//	none                           no model; the error is ErrNone
//	script:FILE                    a scripted conversation
//	replay:FILE                    a recorded conversation
//	record:FILE:MODEL              any of the above, recorded to FILE
package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/script"
)

// ErrNone means that the name is "none", or that auto found no key and no usable
// local server. The caller continues without a model. A key that was found and
// does not work is a [KeyError] instead.
var ErrNone = errors.New("no model")

// howToSetKey returns what to do about a missing key.
func (p Provider) howToSetKey() string {
	if len(p.KeyVariables) == 0 {
		return "run tenon auth key " + p.Name
	}
	return fmt.Sprintf("set %s, or run tenon auth key %s", strings.Join(p.KeyVariables, " or "), p.Name)
}

// Options configures the choice. Nil means all defaults.
type Options struct {
	Getenv  func(string) string                   // nil means os.Getenv
	Keyring func(provider string) (string, error) // called if the environment has no key, "" means no key; nil means no keyring
	Client  *http.Client                          // nil means a default

	// Providers adds providers, or settings for built-in ones, by name.
	Providers map[string]Provider

	// Probe is the timeout for probing a local server; 0 means 400 ms.
	Probe time.Duration

	// Attempts is the total number of attempts per request; 0 means 5.
	Attempts int

	// OnKey is called with each key that is found, so that the caller can hide
	// it. It may be nil.
	OnKey func(provider, key string)
}

// A Choice is a model and the reason for choosing it.
type Choice struct {
	Model llm.Model
	Why   string   // as in "found the key for anthropic in ANTHROPIC_API_KEY"
	Also  []string // other usable providers, as names for Model
	Close func() error
}

// Model makes the model with a name. The error is ErrNone for "none", wraps
// ErrNone if auto finds nothing, and is a *KeyError if auto finds a key that does
// not work.
func Model(ctx context.Context, name string, o *Options) (*Choice, error) {
	c := newChooser(o)
	name = strings.TrimSpace(name)
	switch kind, rest, _ := strings.Cut(name, ":"); kind {
	case "none":
		return nil, ErrNone
	case "auto", "":
		return c.auto(ctx)
	case "script":
		return player(script.Open(rest, nil))
	case "replay":
		return player(script.Replay(rest, nil))
	case "record":
		return c.record(ctx, rest)
	}
	return c.named(ctx, name)
}

func player(p *script.Player, err error) (*Choice, error) {
	if err != nil {
		return nil, err
	}
	return &Choice{Model: p, Why: "selected by name", Close: func() error { return nil }}, nil
}

// record splits FILE:MODEL at the first colon that does not belong to a Windows
// drive, because model names may contain colons too (qwen3:8b).
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
	return nil, fmt.Errorf("record:%s has no model; write record:FILE:MODEL, for example record:talk.jsonl:anthropic/claude-sonnet-4-5", rest)
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
	if c.client.CheckRedirect == nil { // a redirect would leak the key
		copied := *c.client
		copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.client = &copied
	}
	c.probe = cmp.Or(c.probe, 400*time.Millisecond)
	c.providers = c.merge(o.Providers)
	return c
}

// merge adds the caller's providers to the built-in ones.
func (c *chooser) merge(more map[string]Provider) []Provider {
	all := slices.Clone(known())
	for i := range all {
		all[i].home = hostOf(all[i].BaseURL)
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		p := more[name]
		p.Name = name
		if p.Wire == "gemini" {
			p.Wire, p.Dialect = "openai-chat", cmp.Or(p.Dialect, "gemini")
		}
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

// named makes a model from "provider/name" or "provider".
func (c *chooser) named(ctx context.Context, name string) (*Choice, error) {
	head, model, has := strings.Cut(name, "/")
	p, ok := c.find(head)
	if !ok {
		return nil, c.unknown(name, head)
	}
	if p.Problem != "" {
		return nil, errors.New(p.Problem)
	}
	key, where, err := c.key(p)
	if err != nil {
		return nil, err
	}
	if key == "" && !p.Local && !p.Keyless {
		return nil, fmt.Errorf("no API key for %s: %s", p.Name, p.howToSetKey())
	}
	why := "selected by name"
	found := listed{}
	if !has || model == "" {
		list, err := c.list(ctx, p, key)
		if err != nil {
			return nil, err
		}
		if found, ok = p.suggest(list); !ok {
			return nil, fmt.Errorf("%s lists no chat model; name one as %s/NAME", p.Name, p.Name)
		}
		why = "default model of " + p.Name
	} else {
		found = c.lookup(ctx, p, key, model)
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
		hint = "; did you mean anthropic/" + name + "?"
	case strings.HasPrefix(head, "gpt") || strings.HasPrefix(head, "o3") || strings.HasPrefix(head, "o4"):
		hint = "; did you mean openai/" + name + "?"
	case strings.HasPrefix(head, "gemini-"):
		hint = "; did you mean gemini/" + name + "?"
	}
	return fmt.Errorf("unknown model %q: use provider/name with a provider of %s; or auto, none, script:FILE, replay:FILE, record:FILE:MODEL%s", name, strings.Join(names, ", "), hint)
}

// key returns the key of a provider and where it was found.
func (c *chooser) key(p Provider) (key, where string, err error) {
	key, where, err = c.findKey(p)
	if key != "" && c.opts.OnKey != nil {
		c.opts.OnKey(p.Name, key)
	}
	return key, where, err
}

func (c *chooser) findKey(p Provider) (key, where string, err error) {
	if p.Key != "" {
		return p.Key, "the configuration", nil
	}
	if p.FindKey != nil {
		key, where, err = p.FindKey()
		if err != nil {
			return "", "", fmt.Errorf("no API key for %s: %w", p.Name, err)
		}
		return key, where, nil
	}
	for _, v := range p.KeyVariables {
		if k := strings.TrimSpace(c.getenv(v)); k != "" {
			return k, v, nil
		}
	}
	if c.opts.Keyring == nil || len(p.KeyVariables) == 0 && !p.Keyed {
		return "", "", nil
	}
	k, err := c.opts.Keyring(p.KeyringEntry())
	if err != nil {
		return "", "", fmt.Errorf("read the key for %s from the keyring: %w", p.Name, err)
	}
	if k = strings.TrimSpace(k); k != "" {
		return k, "the keyring", nil
	}
	return "", "", nil
}
