package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/redact"
)

// ProviderSettings is an entry of "providers" in tenon.json with variables not
// expanded: a service with models, or changes to a built-in one of that name.
type ProviderSettings struct {
	Name      string
	Wire      string            // one of Wires; "" means that of the built-in provider, else openai-chat
	Dialect   string            // variant of the wire; "" means that of the built-in provider, else none
	BaseURL   string            // "" means that of the built-in provider
	Key       string            // API key, usually a variable; "" means the keyring
	KeyHeader string            // header that holds the key; "" means the default of the wire
	Headers   map[string]string // sent with every request
	Models    []ProviderModel   // nil means that the server is asked
	Local     bool              // on this machine: the choice "auto" asks whether it runs
	Timeout   time.Duration     // longest time without data; 0 means the default
	Source    Source

	line []memberLine
}

// memberLine is the line of a member, for errors about its value.
type memberLine struct {
	name string
	line int
}

// A ProviderModel is a model of a provider. Zero values mean unknown.
type ProviderModel struct {
	Name      string
	Context   int      // tokens
	MaxOutput int      // tokens
	Efforts   []string // efforts that the model takes; empty and not nil means none
	Accepts   []string // kinds of Accepted; empty and not nil means only text
	Prices    ModelPrices
}

// ModelPrices are prices in US dollars for a million tokens.
type ModelPrices struct{ Input, Output, CacheRead, CacheWrite float64 }

// The values of members of tenon.json that name one of a few things.
var (
	Wires    = []string{"anthropic", "openai-responses", "openai-chat", "gemini"}
	Dialects = []string{"openai", "azure", "openrouter", "gemini", "mistral", "deepseek", "ollama", "lmstudio", "llamacpp", "vllm", "plain"}
	Efforts  = []string{EffortAuto, EffortNone, "minimal", "low", "medium", "high", "xhigh", "max"}
	Accepted = []string{"images", "audio", "documents"}
)

// Efforts with a meaning of their own.
const (
	EffortAuto = "auto" // the provider decides; thinking is requested where the model has it
	EffortNone = "none" // no thinking
)

// ParseEffort checks an effort. An empty text is EffortAuto.
func ParseEffort(text string) (string, error) {
	switch {
	case text == "":
		return EffortAuto, nil
	case slices.Contains(Efforts, text):
		return text, nil
	}
	return "", fmt.Errorf("must be %s, not %q%s", oneOf(Efforts), text, didYouMean(text, Efforts))
}

func oneOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// reservedProviders are words that have another meaning as the name of a model.
var reservedProviders = []string{"auto", "none", "script", "replay", "record"}

var providerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,31}$`) })

var providerMembers = []string{"wire", "dialect", "baseURL", "key", "keyHeader", "headers", "models", "local", "timeout"}

// readProviders reads the providers in the order of the file.
func readProviders(n node) (list []ProviderSettings, err error) {
	err = n.eachMember(func(m member) error {
		switch {
		case !providerName().MatchString(m.name):
			return m.value.doc.errorAt(m.off, "%s: the name of a provider has up to 32 lower-case letters, digits, dots, dashes and underscores", m.value.path)
		case slices.Contains(reservedProviders, m.name):
			return m.value.doc.errorAt(m.off, "%s: a provider cannot be named %q", m.value.path, m.name)
		}
		p, err := readProvider(m)
		list = append(list, p)
		return err
	})
	return list, err
}

func readProvider(from member) (ProviderSettings, error) {
	p := ProviderSettings{Name: from.name, Source: Source{File: from.value.doc.file}}
	p.Source.Line, _ = from.value.doc.position(from.off)
	err := from.value.eachMember(func(m member) (err error) {
		line, _ := m.value.doc.position(m.value.off)
		p.line = append(p.line, memberLine{m.name, line})
		switch m.name {
		case "wire":
			p.Wire, err = m.value.word(Wires)
		case "dialect":
			p.Dialect, err = m.value.word(Dialects)
		case "baseURL":
			p.BaseURL, err = m.value.text()
		case "key":
			p.Key, err = m.value.text()
		case "keyHeader":
			if p.KeyHeader, err = m.value.text(); err == nil && !isToken(p.KeyHeader) {
				err = m.value.errorf("must be the name of a header")
			}
		case "headers":
			p.Headers, err = m.value.table()
		case "models":
			p.Models, err = listOf(m.value, readProviderModel)
		case "local":
			p.Local, err = m.value.bool()
		case "timeout":
			p.Timeout, err = m.value.duration()
		default:
			err = m.unknown(providerMembers)
		}
		return err
	})
	return p, err
}

func readProviderModel(n node) (m ProviderModel, err error) {
	if n.raw[0] == '"' { // only a name
		m.Name, err = n.text()
		return m, err
	}
	err = n.eachMember(func(f member) (err error) {
		switch f.name {
		case "name":
			m.Name, err = f.value.text()
		case "context":
			m.Context, err = f.value.tokens()
		case "maxOutput":
			m.MaxOutput, err = f.value.tokens()
		case "efforts":
			m.Efforts, err = listOf(f.value, func(n node) (string, error) { return n.word(Efforts[1:]) })
		case "accepts":
			m.Accepts, err = listOf(f.value, func(n node) (string, error) { return n.word(Accepted) })
		case "prices":
			m.Prices, err = readModelPrices(f.value)
		default:
			err = f.unknown([]string{"name", "context", "maxOutput", "efforts", "accepts", "prices"})
		}
		return err
	})
	if err == nil && strings.TrimSpace(m.Name) == "" {
		err = n.errorf(`must have a "name"`)
	}
	return m, err
}

func readModelPrices(n node) (p ModelPrices, err error) {
	err = n.eachMember(func(m member) (err error) {
		to := map[string]*float64{"input": &p.Input, "output": &p.Output, "cacheRead": &p.CacheRead, "cacheWrite": &p.CacheWrite}[m.name]
		if to == nil {
			return m.unknown([]string{"input", "output", "cacheRead", "cacheWrite"})
		}
		*to, err = strconv.ParseFloat(string(m.value.raw), 64)
		if err != nil || *to < 0 || math.IsInf(*to, 0) {
			return m.value.errorf("must be a price in dollars for a million tokens, such as 1.25")
		}
		return nil
	})
	return p, err
}

// word reads one of a few words.
func (n node) word(words []string) (string, error) {
	text, err := n.text()
	if err == nil && !slices.Contains(words, text) {
		err = n.errorf("must be %s, not %q%s", oneOf(words), text, didYouMean(text, words))
	}
	return text, err
}

// maxTokens bounds the sizes that a file may claim.
const maxTokens = 100_000_000

func (n node) tokens() (int, error) {
	v, err := strconv.Atoi(string(n.raw))
	if err != nil || v <= 0 || v > maxTokens {
		return 0, n.errorf("must be a number of tokens from 1 to %d", maxTokens)
	}
	return v, nil
}

func readEffort(n node) (string, error) {
	text, err := n.text()
	if err != nil {
		return "", err
	}
	if text, err = ParseEffort(text); err != nil {
		return "", n.errorf("%v", err)
	}
	return text, nil
}

// A Provider is a ProviderSettings with the variables of its address and headers
// expanded.
type Provider struct {
	ProviderSettings

	// Problem says why the provider cannot be used, or is empty.
	Problem string

	// KeyringName is NAME if Key is ${keyring:NAME}, else empty.
	KeyringName string

	// Secrets are values that must not be displayed: those of headers and a key
	// that is written in the file.
	Secrets []string

	c *Config
}

// Providers expands the providers of tenon.json. It neither reads keys nor the
// keyring; see [Provider.FindKey].
func (c *Config) Providers() []Provider {
	var all []Provider
	for _, s := range c.settings.Providers {
		all = append(all, c.provider(s))
	}
	return all
}

func (c *Config) provider(s ProviderSettings) Provider {
	p := Provider{ProviderSettings: s, c: c}
	x := p.expander()
	fail := func(member string, err error) {
		if err != nil && p.Problem == "" {
			p.Problem = fmt.Sprintf("%s:%d: providers.%s.%s %v", s.Source.File, s.lineOf(member), s.Name, member, err)
		}
	}
	var err error
	if p.BaseURL, _, err = x.expand(s.BaseURL, 0); err == nil && s.BaseURL != "" {
		err = CheckModelURL(p.BaseURL)
	}
	fail("baseURL", err)
	p.Headers = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value, _, err := x.expand(s.Headers[name], 0)
		switch {
		case err != nil:
		case !isToken(name):
			err = fmt.Errorf("has an invalid header name %q", name)
		case strings.ContainsAny(value, "\r\n\x00"):
			err = fmt.Errorf("has a line break in %q", name)
		case redact.Setting(name) || secretValue(value):
			x.found = append(x.found, value)
			if _, token, ok := strings.Cut(value, " "); ok { // without a scheme such as Bearer
				x.found = append(x.found, token)
			}
		}
		fail("headers", err)
		p.Headers[name] = value
	}
	if p.Key != "" && !strings.Contains(p.Key, "${") {
		x.found = append(x.found, p.Key)
	}
	if v, err := parseWhole(p.Key); err == nil && v.kind == "keyring" {
		p.KeyringName = v.name
	}
	p.Secrets = x.found
	return p
}

// parseWhole parses a text that is one variable.
func parseWhole(text string) (variable, error) {
	if !strings.HasPrefix(text, "${") || closing(text) != len(text)-1 {
		return variable{}, errors.New("not a variable")
	}
	return parseVariable(text)
}

func (s *ProviderSettings) lineOf(member string) int {
	for _, l := range s.line {
		if l.name == member {
			return l.line
		}
	}
	return s.Source.Line
}

func (p Provider) expander() *expander {
	return &expander{c: p.c, e: Entry{Name: p.Name, Source: p.Source}, files: true}
}

// FindKey returns the key of the provider and says where it is from. It calls
// keyring for ${keyring:NAME}. The error says which variable is not set; it is not
// a mistake in the file.
func (p Provider) FindKey(keyring func(name string) (string, error)) (key, where string, err error) {
	if p.Key == "" {
		return "", "", nil
	}
	x := p.expander()
	x.ring = keyring
	key, _, err = x.expand(p.Key, 0)
	if err != nil {
		return "", "", fmt.Errorf("the key %w", err)
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", "", fmt.Errorf("the key %s is empty", p.Key)
	}
	if err := CheckKey(key); err != nil {
		return "", "", fmt.Errorf("the key %w", err)
	}
	where = "tenon.json"
	if strings.Contains(p.Key, "${") {
		where = p.Key
	}
	return key, where, nil
}

// CheckKey returns an error if a text cannot be an API key. The error does not
// contain it.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("is empty")
	case len(key) > 8<<10:
		return errors.New("is longer than 8 KiB")
	case strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0:
		return errors.New("has a blank, a line break or a character that keys do not have")
	}
	return nil
}

// CheckModelURL returns an error for the address of a provider to which a key
// should not be sent: one without encryption outside this machine and its local
// network, or one with a login.
func CheckModelURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must be a URL such as https://api.example.com/v1")
	case u.User != nil:
		return errors.New("must not have a user and password; use key and headers")
	case u.Fragment != "":
		return errors.New("must not have a fragment (#)")
	case u.Scheme == "http" && !nearby(u.Hostname()):
		return errors.New("must start with https://: over http the key could be read on the way")
	}
	return nil
}

// nearby reports whether a host is this machine or in the local network.
func nearby(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".internal")
}

// literalKeys returns warnings about keys that are written in the file.
func literalKeys(list []ProviderSettings) (warnings []string) {
	for _, p := range list {
		if p.Key != "" && !strings.Contains(p.Key, "${") {
			warnings = append(warnings, fmt.Sprintf("%s:%d: the key of %s is written in the file; store it with tenon auth key %s, or refer to a variable: \"${env:NAME}\"", p.Source.File, p.lineOf("key"), p.Name, p.Name))
		}
	}
	return warnings
}
