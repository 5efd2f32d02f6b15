// Package openai is a client of OpenAI's two APIs, Chat Completions and
// Responses, and of servers compatible with them.
package openai

import (
	"cmp"
	"context"
	"fmt"
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
	Key       string       // sent as a bearer token; never in an error
	KeyHeader string       // header for the key instead, such as api-key
	BaseURL   string       // the part before /chat/completions; "" means DefaultBaseURL
	Provider  string       // name of the provider in Info and in errors; "" means "openai"
	API       API          // "" means Responses for the dialect OpenAI, and Chat for others
	Dialect   Dialect      // variant of the API; "" means OpenAI if BaseURL is "", otherwise Plain
	Header    http.Header  // sent with every request
	Client    *http.Client // nil means a default; redirects are followed only if CheckRedirect is set

	Context   int          // tokens; 0 means the default of the dialect and the model, or unknown
	MaxTokens int          // of an answer to a request without a limit; 0 means the server's default
	Accepts   *llm.Accepts // nil means the default of the dialect
	Prices    llm.Prices   // zero means that costs are known only if the provider reports them
	MaxOutput int          // longest answer of the model in tokens; 0 means unknown
	Efforts   []string     // efforts that the model takes; nil means the default of the dialect and the model, empty none
	CacheKey  string       // groups requests in OpenAI's prompt cache; "" means the provider's default

	Attempts int           // total number of attempts per request; 0 means 5
	Idle     time.Duration // longest time without data; 0 means 10 minutes

	FirstByte time.Duration // longest wait for the start of an answer; 0 means 3 minutes
}

// A Model is a model behind one of the APIs.
type Model struct {
	info   llm.Info
	opts   Options
	quirks quirks
	client wire.Client

	reducer wire.Reducer

	mu   sync.Mutex
	left map[string]bool // members that the server has rejected
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
		Efforts: m.opts.Efforts, MaxOutput: m.opts.MaxOutput, Prices: m.opts.Prices,
	}
	if m.info.Efforts == nil {
		m.info.Efforts = m.quirks.efforts
	}
	if m.opts.Accepts != nil {
		m.info.Accepts = *m.opts.Accepts
	}
	m.client = wire.Client{
		Provider: m.opts.Provider, HTTP: m.opts.Client, Secrets: []string{m.opts.Key},
		Retry: wire.Retry{Attempts: m.opts.Attempts}, Idle: m.opts.Idle, Prices: m.opts.Prices, FirstByte: m.opts.FirstByte,
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
	encode := m.encodeChat
	parser := func() wire.Parser {
		return &chatParser{calls: calls, think: thinkTags{off: !m.quirks.thinkTags}}
	}
	if m.opts.API == Responses {
		encode, parser = m.encodeResponses, func() wire.Parser { return &responsesParser{calls: calls} }
	}
	body, err := encode(r, tools, m.reducer.Level(r.Effort))
	if err != nil {
		return wire.Failed(&llm.Error{Kind: llm.ErrBadRequest, Provider: m.opts.Provider, Message: err.Error(), Err: err})
	}
	reduce := m.reducer.Reduce(m.info.Name, r.Effort, len(body), func(level int) ([]byte, error) { return encode(r, tools, level) })
	return m.client.Stream(ctx, wire.Call{
		URL: wire.URL(m.opts.BaseURL, path), Header: m.header(), Body: body, Parser: parser,
		Reduce: func(e *llm.Error) ([]byte, string, bool) {
			member := m.reject(e.Message)
			if member == "" {
				return reduce(e)
			}
			body, err := encode(r, tools, m.reducer.Level(r.Effort))
			return body, fmt.Sprintf("%s does not take %s; asking without it", m.opts.Provider, member), err == nil
		},
	})
}

// optional are the members of a request that are left out if the server rejects
// them: the request for the usage, and the key of the cache.
var optional = []string{"stream_options", "prompt_cache_key"}

// reject remembers the optional member that an error is about, and returns it; it
// returns "" if there is none, or if it was left out already.
func (m *Model) reject(message string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, member := range optional {
		if strings.Contains(message, member) && !m.left[member] {
			if m.left == nil {
				m.left = map[string]bool{}
			}
			m.left[member] = true
			return member
		}
	}
	return ""
}

func (m *Model) rejected(member string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left[member]
}

func (m *Model) header() http.Header {
	h := http.Header{}
	for name, values := range m.opts.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	Authorize(h, m.opts.KeyHeader, m.opts.Key)
	return h
}

// Authorize sets the header for the key. An empty header means Authorization.
func Authorize(h http.Header, header, key string) {
	wire.SetKey(h, cmp.Or(header, "Authorization"), key)
}

// AdaptSchema returns the schema that a server of this dialect is sent for a
// tool's schema, and a text to add to the tool's description. The schema is nil
// if the server requires that for a tool without arguments.
func AdaptSchema(d Dialect, schema llm.RawMessage) (llm.RawMessage, string) {
	a := toolschema.Adapt(schema, quirksOf(d, "").rules)
	return a.Schema, a.Note
}

// A Dialect is a server's variant of the APIs.
type Dialect string

const (
	OpenAI     Dialect = "openai"
	Azure      Dialect = "azure" // OpenAI's models on Azure, named by deployments
	DeepSeek   Dialect = "deepseek"
	OpenRouter Dialect = "openrouter"
	Gemini     Dialect = "gemini"
	Mistral    Dialect = "mistral"
	Ollama     Dialect = "ollama"
	LMStudio   Dialect = "lmstudio"
	LlamaCpp   Dialect = "llamacpp"
	VLLM       Dialect = "vllm"
	Plain      Dialect = "plain" // any other server
)

// quirks are the differences between servers.
type quirks struct {
	rules        toolschema.Rules
	ids          wire.IDs
	accepts      llm.Accepts
	maxTokens    string // JSON member for the token limit
	context      int    // tokens; 0 means unknown
	descriptions int    // longest description of a tool in Chat, in characters; 0 means no limit
	thinkTags    bool   // thinking may be part of the text, between tags
	reasons      bool   // Responses: the model supports encrypted reasoning
	usageCost    bool   // the server reports the cost on request

	efforts []string // that the model takes; nil means unknown
}

var (
	anyID = sync.OnceValue(func() wire.IDs {
		return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`), Length: 29}
	})
	mistralID = sync.OnceValue(func() wire.IDs {
		return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), Length: 9, Bare: true}
	})
)

// notReasoning matches models that reject requests for reasoning.
var notReasoning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(gpt-3|gpt-4|chatgpt|davinci|babbage)`) })

func quirksOf(d Dialect, model string) quirks {
	q := quirks{rules: toolschema.Rules{PlainRoot: true}, ids: anyID(), maxTokens: "max_tokens", thinkTags: true}
	switch d {
	case OpenAI, Azure:
		q.maxTokens = "max_completion_tokens"
		q.descriptions = 1024
		q.thinkTags = false
		q.context = contextOf(model)
		q.reasons = !notReasoning().MatchString(model)
		q.efforts = openAIEfforts(model)
		q.accepts = llm.Accepts{Images: !strings.HasPrefix(model, "gpt-3"), Documents: true, Audio: strings.Contains(model, "audio")}
	case OpenRouter:
		q.usageCost = true
		q.descriptions = 1024
		q.accepts = llm.Accepts{Images: true, Documents: true}
	case Gemini:
		q.rules = geminiRules
		q.context = 1_000_000
		q.efforts = []string{"low", "medium", "high"}
		q.accepts = llm.Accepts{Images: true, Audio: true}
	case Mistral:
		q.ids = mistralID()
		q.accepts = llm.Accepts{Images: true}
	case Ollama:
		q.rules = ollamaRules
	case LlamaCpp:
		q.rules.Grammar = true
	}
	return q
}

// Gemini's endpoint decodes parameters to its own Schema type and rejects unknown
// members.
var geminiRules = toolschema.Rules{
	PlainRoot: true, Inline: true, AnyOfOnly: true, OneType: true, Enums: true, NoEmpty: true,
	Formats: []string{"date-time", "enum", "float", "double", "int32", "int64"},
	Keywords: []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
		"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf",
		"minimum", "maximum", "default"},
}

// Ollama silently drops keywords that its own type for tools does not have.
var ollamaRules = toolschema.Rules{
	PlainRoot: true, Inline: true, AnyOfOnly: true,
	Formats:  []string{},
	Keywords: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"},
}

// openAIEfforts returns the efforts of OpenAI's models, which its list of models
// does not contain.
func openAIEfforts(model string) []string {
	switch {
	case notReasoning().MatchString(model):
		return nil
	case strings.HasPrefix(model, "gpt-"):
		return []string{"minimal", "low", "medium", "high", "xhigh"}
	case strings.HasPrefix(model, "o1"), strings.HasPrefix(model, "o3"), strings.HasPrefix(model, "o4"):
		return []string{"low", "medium", "high"}
	}
	return nil
}

// contextOf returns the context size of OpenAI's models, which its list of models
// does not contain.
func contextOf(model string) int {
	for _, c := range []struct {
		prefix string
		tokens int
	}{
		{"gpt-3.5", 16_000}, {"gpt-4.1", 1_000_000}, {"gpt-4-32k", 32_000}, {"gpt-4-0", 8_000}, {"gpt-4", 128_000},
		{"gpt-", 272_000}, {"o1", 200_000}, {"o3", 200_000}, {"o4", 200_000},
	} {
		if strings.HasPrefix(model, c.prefix) {
			return c.tokens
		}
	}
	return 0
}
