// Package anthropic speaks the Messages API of Anthropic, and of those who
// serve the same.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// DefaultBaseURL is where Anthropic serves.
const DefaultBaseURL = "https://api.anthropic.com"

// version is the one version of the API that there is.
const version = "2023-06-01"

// Options say where and how. Nil means Anthropic itself without a key.
type Options struct {
	Key      string       // sent as x-api-key; never in an error
	Token    string       // sent as a bearer token instead of a key, for gateways; never in an error
	BaseURL  string       // without /v1/messages; "" means DefaultBaseURL
	Provider string       // how the model is called in Info and in errors; "" means "anthropic"
	Header   http.Header  // sent with every request, as for beta features
	Client   *http.Client // nil means one of our own; redirects are followed only if it says how

	Context   int          // tokens; 0 means 200,000 for claude models and unknown for others
	MaxTokens int          // of an answer that asks for no limit; 0 means what the model's name lets us expect
	Accepts   *llm.Accepts // nil means images and documents
	Prices    llm.Prices   // zero means that costs are unknown

	Attempts int           // how often a request is sent in all; 0 means 5
	Idle     time.Duration // how long nothing may come; 0 means 10 minutes
	NoCache  bool          // mark nothing for the prompt cache
}

// A Model is one model behind the Messages API.
type Model struct {
	info   llm.Info
	opts   Options
	client wire.Client
}

// New makes a model of its name at the provider. Nothing is sent.
func New(name string, o *Options) *Model {
	m := &Model{}
	if o != nil {
		m.opts = *o
	}
	if m.opts.BaseURL == "" {
		m.opts.BaseURL = DefaultBaseURL
	}
	if m.opts.Provider == "" {
		m.opts.Provider = "anthropic"
	}
	accepts := llm.Accepts{Images: true, Documents: true}
	if m.opts.Accepts != nil {
		accepts = *m.opts.Accepts
		accepts.Audio = false // the API has no form for it
	}
	m.info = llm.Info{
		Provider: m.opts.Provider, Name: name, Context: m.opts.Context,
		Limits: llm.NameLimits{MaxLen: 64}, Accepts: accepts,
	}
	if m.info.Context == 0 && strings.HasPrefix(name, "claude") {
		m.info.Context = 200_000
	}
	m.client = wire.Client{
		Provider: m.opts.Provider, HTTP: m.opts.Client, Secrets: []string{m.opts.Key, m.opts.Token},
		Retry: wire.Retry{Attempts: m.opts.Attempts}, Idle: m.opts.Idle, Prices: m.opts.Prices,
	}
	return m
}

// Info says what the model is.
func (m *Model) Info() llm.Info { return m.info }

// Stream sends the request and yields the answer as it comes.
func (m *Model) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	body, tools, err := m.encode(r)
	if err != nil {
		return wire.Failed(&llm.Error{Kind: llm.ErrBadRequest, Provider: m.opts.Provider, Message: err.Error(), Err: err})
	}
	return m.client.Stream(ctx, wire.Call{
		URL:    strings.TrimRight(m.opts.BaseURL, "/") + "/v1/messages",
		Header: m.header(),
		Body:   body,
		Parser: func() wire.Parser { return &parser{calls: wire.Calls{Restore: tools.Restore}} },
	})
}

func (m *Model) header() http.Header {
	h := http.Header{}
	for name, values := range m.opts.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	Authorize(h, m.opts.Key)
	if m.opts.Token != "" {
		h.Set("Authorization", "Bearer "+m.opts.Token)
	}
	return h
}

// AdaptSchema says what the API is given for a tool's schema, and what then
// must be said in the tool's description.
//
// The root must be an object and no choice, and properties at the root must
// have names of a certain form; everything else of JSON Schema 2020-12 is taken.
func AdaptSchema(schema llm.RawMessage) (llm.RawMessage, string) {
	a := toolschema.Adapt(schema, rules())
	return a.Schema, a.Note
}

var rules = sync.OnceValue(func() toolschema.Rules {
	return toolschema.Rules{PlainRoot: true, Names: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)}
})

var ids = sync.OnceValue(func() wire.IDs {
	return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), Length: 29}
})

// Authorize puts a key into the head of a request to another address of the
// same API.
func Authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", version)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}
