// Package openai speaks the two wires of OpenAI, Chat Completions and
// Responses, to OpenAI and to the many others who serve the same.
package openai

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// DefaultBaseURL is where OpenAI serves.
const DefaultBaseURL = "https://api.openai.com/v1"

// An API is one of the two wires.
type API string

const (
	Chat      API = "chat"      // POST /chat/completions
	Responses API = "responses" // POST /responses
)

// Options say where and how. Nil means OpenAI itself without a key.
type Options struct {
	Key      string       // sent as a bearer token; never in an error
	BaseURL  string       // with /v1 or whatever stands before /chat/completions; "" means DefaultBaseURL
	Provider string       // how the model is called in Info and in errors; "" means "openai"
	API      API          // "" means Responses for OpenAI itself, and Chat for all others
	Dialect  Dialect      // what is special about the server; "" means OpenAI's own if BaseURL is unset, and Plain if it is set
	Header   http.Header  // sent with every request
	Client   *http.Client // nil means one of our own; redirects are followed only if it says how

	Context   int          // tokens; 0 means what the dialect and the name let us expect, or unknown
	MaxTokens int          // of an answer that asks for no limit; 0 leaves it to the server
	Accepts   *llm.Accepts // nil means what the dialect lets us expect
	Prices    llm.Prices   // zero means that costs are known only where the provider names them
	CacheKey  string       // keeps requests that begin alike together in OpenAI's prompt cache; "" leaves it to the provider

	Attempts int           // how often a request is sent in all; 0 means 5
	Idle     time.Duration // how long nothing may come; 0 means 10 minutes
}

// A Model is one model behind one of the wires.
type Model struct {
	info   llm.Info
	opts   Options
	quirks quirks
	client wire.Client
}

// New makes a model of its name at the provider. Nothing is sent.
func New(name string, o *Options) *Model {
	m := &Model{}
	if o != nil {
		m.opts = *o
	}
	if m.opts.Dialect == "" && m.opts.BaseURL == "" {
		m.opts.Dialect = OpenAI
	}
	if m.opts.BaseURL == "" {
		m.opts.BaseURL = DefaultBaseURL
	}
	if m.opts.Provider == "" {
		m.opts.Provider = "openai"
	}
	m.quirks = quirksOf(m.opts.Dialect, name)
	if m.opts.API == "" {
		m.opts.API = Chat
		if m.opts.Dialect == OpenAI {
			m.opts.API = Responses
		}
	}
	m.info = llm.Info{
		Provider: m.opts.Provider, Name: name, Context: m.opts.Context,
		Limits: llm.NameLimits{MaxLen: 64}, Accepts: m.quirks.accepts,
	}
	if m.info.Context == 0 {
		m.info.Context = m.quirks.context
	}
	if m.opts.Accepts != nil {
		m.info.Accepts = *m.opts.Accepts
	}
	m.client = wire.Client{
		Provider: m.opts.Provider, HTTP: m.opts.Client, Secrets: []string{m.opts.Key},
		Retry: wire.Retry{Attempts: m.opts.Attempts}, Idle: m.opts.Idle, Prices: m.opts.Prices,
	}
	return m
}

// Info says what the model is.
func (m *Model) Info() llm.Info { return m.info }

// Stream sends the request and yields the answer as it comes.
func (m *Model) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	limit := m.quirks.descriptions
	path := "/chat/completions"
	if m.opts.API == Responses {
		path, limit = "/responses", 0
	}
	tools := wire.AdaptTools(r.Tools, m.quirks.rules, limit)
	calls := wire.Calls{Restore: tools.Restore}
	var body []byte
	var err error
	var parser func() wire.Parser
	if m.opts.API == Responses {
		body, err = m.encodeResponses(r, tools)
		parser = func() wire.Parser { return &responsesParser{calls: calls} }
	} else {
		body, err = m.encodeChat(r, tools)
		parser = func() wire.Parser { return &chatParser{calls: calls, think: thinkTags{off: !m.quirks.thinkTags}} }
	}
	if err != nil {
		return wire.Failed(&llm.Error{Kind: llm.ErrBadRequest, Provider: m.opts.Provider, Message: err.Error(), Err: err})
	}
	return m.client.Stream(ctx, wire.Call{
		URL: strings.TrimRight(m.opts.BaseURL, "/") + path, Header: m.header(), Body: body, Parser: parser,
	})
}

func (m *Model) header() http.Header {
	h := http.Header{}
	for name, values := range m.opts.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if m.opts.Key != "" {
		h.Set("Authorization", "Bearer "+m.opts.Key)
	}
	return h
}

// AdaptSchema says what a server of this dialect is given for a tool's schema,
// and what then must be said in the tool's description. The schema is nil where
// the server wants none for a tool without arguments.
func AdaptSchema(d Dialect, schema llm.RawMessage) (llm.RawMessage, string) {
	a := toolschema.Adapt(schema, quirksOf(d, "").rules)
	return a.Schema, a.Note
}
