// Package openai is a client of OpenAI's two APIs, Chat Completions and
// Responses, and of servers compatible with them.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// DefaultBaseURL is the base URL of OpenAI's API.
const DefaultBaseURL = "https://api.openai.com/v1"

// An API is one of the two APIs.
type API string

const (
	Chat      API = "chat"      // POST /chat/completions
	Responses API = "responses" // POST /responses
)

// Options configures a model. Nil means OpenAI's API without a key.
type Options struct {
	Key      string       // sent as a bearer token; never in an error
	BaseURL  string       // the part before /chat/completions; "" means DefaultBaseURL
	Provider string       // name of the provider in Info and in errors; "" means "openai"
	API      API          // "" means Responses for the dialect OpenAI, and Chat for others
	Dialect  Dialect      // variant of the API; "" means OpenAI if BaseURL is "", otherwise Plain
	Header   http.Header  // sent with every request
	Client   *http.Client // nil means a default; redirects are followed only if CheckRedirect is set

	Context   int          // tokens; 0 means the default of the dialect and the model, or unknown
	MaxTokens int          // of an answer to a request without a limit; 0 means the server's default
	Accepts   *llm.Accepts // nil means the default of the dialect
	Prices    llm.Prices   // zero means that costs are known only if the provider reports them
	CacheKey  string       // groups requests in OpenAI's prompt cache; "" means the provider's default

	Attempts int           // total number of attempts per request; 0 means 5
	Idle     time.Duration // longest time without data; 0 means 10 minutes
}

// A Model is a model behind one of the APIs.
type Model struct {
	info   llm.Info
	opts   Options
	quirks quirks
	client wire.Client
}

// New returns the model with the provider's name for it. It sends nothing.
func New(name string, o *Options) *Model {
	m := &Model{}
	if o != nil {
		m.opts = *o
	}
	if m.opts.Dialect == "" && m.opts.BaseURL == "" {
		m.opts.Dialect = OpenAI
	}
	m.opts.BaseURL = cmp.Or(m.opts.BaseURL, DefaultBaseURL)
	m.opts.Provider = cmp.Or(m.opts.Provider, "openai")
	m.quirks = quirksOf(m.opts.Dialect, name)
	if m.opts.API == "" {
		m.opts.API = Chat
		if m.opts.Dialect == OpenAI {
			m.opts.API = Responses
		}
	}
	m.info = llm.Info{
		Provider: m.opts.Provider, Name: name, Context: cmp.Or(m.opts.Context, m.quirks.context),
		Limits: llm.NameLimits{MaxLen: 64}, Accepts: m.quirks.accepts,
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

// Info returns the description of the model.
func (m *Model) Info() llm.Info { return m.info }

// Stream implements [llm.Model].
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

// AdaptSchema returns the schema that a server of this dialect is sent for a
// tool's schema, and a text to add to the tool's description. The schema is nil
// if the server requires that for a tool without arguments.
func AdaptSchema(d Dialect, schema llm.RawMessage) (llm.RawMessage, string) {
	a := toolschema.Adapt(schema, quirksOf(d, "").rules)
	return a.Schema, a.Note
}
