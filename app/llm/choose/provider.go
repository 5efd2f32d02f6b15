package choose

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/openai"
)

// A Provider is a service with models. Fields that are unset in
// Options.Providers keep the value of the built-in provider with that name.
type Provider struct {
	Name         string      `json:"-"`
	Wire         string      `json:"wire,omitzero"`          // "anthropic", "openai-chat", "openai-responses" or "gemini"; "" means openai-chat
	Dialect      string      `json:"dialect,omitzero"`       // see openai.Dialect; "" means plain
	BaseURL      string      `json:"base_url,omitzero"`      // see anthropic.Options and openai.Options
	URLVariable  string      `json:"-"`                      // environment variable that overrides BaseURL
	KeyVariables []string    `json:"key_variables,omitzero"` // environment variables; the first that is set is used
	Key          string      `json:"-"`                      // overrides KeyVariables
	Keyless      bool        `json:"keyless,omitzero"`       // works without a key
	Keyed        bool        `json:"keyed,omitzero"`         // look in the keyring even without KeyVariables
	Local        bool        `json:"local,omitzero"`         // on this machine; auto probes it
	Lists        bool        `json:"-"`                      // the list of models has context sizes
	Header       http.Header `json:"-"`                      // sent with every request
	Prices       llm.Prices  `json:"prices,omitzero"`
	Context      int         `json:"context,omitzero"` // tokens, if the provider does not report it

	KeyHeader   string        `json:"-"` // header that holds the key; "" means the default of the wire
	KeyringName string        `json:"-"` // entry of the keyring that holds the key; "" means one bound to provider and host
	Models      []ModelSpec   `json:"-"` // nil means that the server is asked
	Idle        time.Duration `json:"-"` // longest time without data; 0 means a default
	Problem     string        `json:"-"` // why the provider cannot be used, or ""

	// FindKey returns the key and where it is from, or an error that says what is
	// missing. Nil means KeyVariables and the keyring.
	FindKey func() (key, where string, err error) `json:"-"`

	prefer []*regexp.Regexp // names of default models, best first
	home   string           // host of the built-in address; "" for a provider that is not built in
}

// A ModelSpec describes a model of a provider. Zero values mean unknown.
type ModelSpec struct {
	Name      string       `json:"name"`
	Context   int          `json:"context,omitzero"`   // tokens
	MaxOutput int          `json:"maxOutput,omitzero"` // tokens
	Efforts   []string     `json:"efforts,omitzero"`   // nil means unknown, empty means that it does not think
	Accepts   *llm.Accepts `json:"accepts,omitzero"`
	Prices    llm.Prices   `json:"prices,omitzero"`
}

// known returns the built-in providers in the order in which auto tries them.
var known = sync.OnceValue(func() []Provider {
	return []Provider{
		{Name: "anthropic", Wire: "anthropic", BaseURL: anthropic.DefaultBaseURL, URLVariable: "ANTHROPIC_BASE_URL", KeyVariables: []string{"ANTHROPIC_API_KEY"}, Lists: true,
			prefer: patterns(`^claude-sonnet-\d`, `sonnet`, `^claude`)},
		{Name: "openai", Wire: "openai-responses", Dialect: "openai", BaseURL: openai.DefaultBaseURL, URLVariable: "OPENAI_BASE_URL", KeyVariables: []string{"OPENAI_API_KEY"},
			prefer: patterns(`^gpt-\d+(\.\d+)?$`, `^gpt-\d`)},
		{Name: "gemini", Dialect: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyVariables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			prefer: patterns(`gemini-\d+(\.\d+)?-pro$`, `gemini-\d+(\.\d+)?-flash$`, `gemini-\d.*(pro|flash)`)},
		{Name: "openrouter", Dialect: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyVariables: []string{"OPENROUTER_API_KEY"}, Lists: true,
			prefer: patterns(`^openrouter/auto$`)},
		{Name: "mistral", Dialect: "mistral", BaseURL: "https://api.mistral.ai/v1", KeyVariables: []string{"MISTRAL_API_KEY"}, Lists: true,
			prefer: patterns(`^mistral-large-latest$`, `^mistral-medium-latest$`)},
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyVariables: []string{"GROQ_API_KEY"}, Lists: true, prefer: patterns(`gpt-oss-120b`, `llama.*70b`)},
		{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyVariables: []string{"DEEPSEEK_API_KEY"}, prefer: patterns(`^deepseek-chat$`)},
		{Name: "xai", BaseURL: "https://api.x.ai/v1", KeyVariables: []string{"XAI_API_KEY"}, prefer: patterns(`^grok-\d`)},

		{Name: "ollama", Dialect: "ollama", BaseURL: "http://127.0.0.1:11434/v1", URLVariable: "OLLAMA_HOST", Local: true},
		{Name: "lmstudio", Dialect: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Local: true},
		{Name: "llamacpp", Dialect: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", KeyVariables: []string{"LLAMA_API_KEY"}, Local: true},
		{Name: "vllm", Dialect: "vllm", BaseURL: "http://127.0.0.1:8000/v1", KeyVariables: []string{"VLLM_API_KEY"}, Local: true},
	}
})

func patterns(all ...string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range all {
		out = append(out, regexp.MustCompile(p))
	}
	return out
}

// with returns the built-in provider p with the settings of q. A key that belongs
// to the provider is not sent to another host: there, only a key that q names or
// that was stored for that host is used.
func (p Provider) with(q Provider) Provider {
	p.Wire, p.Dialect, p.Key = cmp.Or(q.Wire, p.Wire), cmp.Or(q.Dialect, p.Dialect), cmp.Or(q.Key, p.Key)
	if q.BaseURL != "" {
		p.BaseURL, p.URLVariable = q.BaseURL, ""
		if hostOf(q.BaseURL) != p.home && !p.Local {
			p.KeyVariables, p.Keyed, p.Keyless = nil, true, true
		}
	}
	p.KeyHeader, p.KeyringName, p.Problem = cmp.Or(q.KeyHeader, p.KeyHeader), cmp.Or(q.KeyringName, p.KeyringName), q.Problem
	p.Idle = cmp.Or(q.Idle, p.Idle)
	if q.FindKey != nil {
		p.FindKey, p.Keyless = q.FindKey, false
	}
	if q.Models != nil {
		p.Models = q.Models
	}
	p.URLVariable = cmp.Or(q.URLVariable, p.URLVariable)
	if q.KeyVariables != nil {
		p.KeyVariables = q.KeyVariables
	}
	if q.Header != nil {
		p.Header = q.Header
	}
	p.Prices, p.Context = cmp.Or(q.Prices, p.Prices), cmp.Or(q.Context, p.Context)
	p.Keyless, p.Keyed, p.Local = p.Keyless || q.Keyless, p.Keyed || q.Keyed, p.Local || q.Local
	return p
}

// hostOf returns the host and port of a URL, or "" if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// KeyringEntry returns the name of the keyring entry for the provider's key. It
// contains the host unless that is the provider's own, so that a key is sent only
// to the host for which it was stored.
func (p Provider) KeyringEntry() string {
	switch host := hostOf(p.BaseURL); {
	case p.KeyringName != "":
		return p.KeyringName
	case host == p.home || host == "":
		return p.Name
	default:
		return p.Name + "@" + host
	}
}

// fixURL completes the value of OLLAMA_HOST, which often has neither scheme nor
// path and may be an address to listen on, such as 0.0.0.0.
func (p Provider) fixURL(s string) string {
	if p.Name != "ollama" {
		return s
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return p.BaseURL
	}
	host, port := u.Hostname(), u.Port()
	if host == "0.0.0.0" || host == "::" || host == "" {
		host = "127.0.0.1"
	}
	if port == "" && u.Scheme == "http" {
		port = "11434"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host + strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/v1"
}

func (c *chooser) build(p Provider, key string, m listed) llm.Model {
	context := cmp.Or(m.Context, p.Context)
	prices := cmp.Or(m.Prices, p.Prices)
	if p.Wire == "anthropic" {
		return anthropic.New(m.ID, &anthropic.Options{
			Key: key, KeyHeader: p.KeyHeader, BaseURL: p.BaseURL, Provider: p.Name, Header: p.Header, Client: c.opts.Client,
			Context: context, MaxTokens: cmp.Or(m.limit, min(m.MaxOutput, 32_000)), MaxOutput: m.MaxOutput, Efforts: m.Efforts,
			Accepts: m.Accepts, Prices: prices, Attempts: c.opts.Attempts, Idle: p.Idle, FirstByte: p.firstByte(),
		})
	}
	api := openai.Chat
	if p.Wire == "openai-responses" {
		api = openai.Responses
	}
	dialect := cmp.Or(openai.Dialect(p.Dialect), openai.Plain)
	return openai.New(m.ID, &openai.Options{
		Key: key, KeyHeader: p.KeyHeader, BaseURL: p.BaseURL, Provider: p.Name, API: api, Dialect: dialect, Header: p.Header, Client: c.opts.Client,
		Context: context, MaxTokens: m.limit, MaxOutput: m.MaxOutput, Efforts: m.Efforts,
		Accepts: m.Accepts, Prices: prices, Attempts: c.opts.Attempts, Idle: p.Idle, FirstByte: p.firstByte(),
	})
}

// firstByte returns how long the provider may take to begin its answer. A server
// on this machine may have to load the model first.
func (p Provider) firstByte() time.Duration {
	if p.Local {
		return cmp.Or(p.Idle, 10*time.Minute)
	}
	return p.Idle
}

// askOllama adds what Ollama's list lacks: what a model accepts, and the context
// size of a loaded model, which may differ from the size in the model file.
func (c *chooser) askOllama(ctx context.Context, p Provider, m listed) listed {
	if p.Dialect != "ollama" {
		return m
	}
	ctx, cancel := context.WithTimeout(ctx, 5*c.probe)
	defer cancel()
	base := strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	var show struct {
		Capabilities []string `json:"capabilities"`
	}
	query, _ := json.Marshal(map[string]string{"model": m.ID})
	if req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/show", bytes.NewReader(query)); err == nil {
		req.Header.Set("Content-Type", "application/json")
		if res, err := c.client.Do(req); err == nil {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 8<<20))
			res.Body.Close()
			_ = json.Unmarshal(body, &show)
		}
	}
	if show.Capabilities != nil {
		m.Accepts = cmp.Or(m.Accepts, &llm.Accepts{Images: slices.Contains(show.Capabilities, "vision")})
		if m.Efforts == nil {
			m.Efforts = []string{}
			if slices.Contains(show.Capabilities, "thinking") {
				m.Efforts = []string{"low", "medium", "high"}
			}
		}
	}
	var running struct {
		Models []entry `json:"models"`
	}
	if body, err := c.get(ctx, p, "", base+"/api/ps"); err == nil {
		_ = json.Unmarshal(body, &running)
	}
	for _, e := range running.Models {
		if id := e.listed().ID; id == m.ID || id == m.ID+":latest" {
			m.Context = cmp.Or(e.Length, m.Context)
		}
	}
	return m
}
