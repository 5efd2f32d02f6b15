// Package anthropic is a client of the Anthropic Messages API and of servers
// compatible with it.
package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// DefaultBaseURL is the base URL of Anthropic's API.
const DefaultBaseURL = "https://api.anthropic.com"

// version is the only version of the API.
const version = "2023-06-01"

// Options configures a model. Nil means Anthropic's API without a key.
type Options struct {
	Key       string       // sent as x-api-key; never in an error
	KeyHeader string       // header for the key instead; Authorization gets it as a bearer token
	Token     string       // sent as a bearer token, for gateways; never in an error
	BaseURL   string       // without /v1/messages; "" means DefaultBaseURL
	Provider  string       // name of the provider in Info and in errors; "" means "anthropic"
	Header    http.Header  // sent with every request
	Client    *http.Client // nil means a default; redirects are followed only if CheckRedirect is set

	Context   int          // tokens; 0 means 200,000 for claude models and unknown for others
	MaxTokens int          // of an answer to a request without a limit; 0 means a default for the model
	Accepts   *llm.Accepts // nil means images and documents
	Prices    llm.Prices   // zero means that costs are unknown
	MaxOutput int          // longest answer of the model in tokens; 0 means unknown
	Efforts   []string     // efforts that the model takes; nil means a default for the model, empty none

	Attempts int           // total number of attempts per request; 0 means 5
	Idle     time.Duration // longest time without data; 0 means 10 minutes
	NoCache  bool          // do not use the prompt cache

	FirstByte time.Duration // longest wait for the start of an answer; 0 means 3 minutes
}

// A Model is a model behind the Messages API.
type Model struct {
	info   llm.Info
	opts   Options
	client wire.Client

	reducer wire.Reducer
}

// New returns the model with the provider's name for it. It sends nothing.
func New(name string, o *Options) *Model {
	m := &Model{}
	if o != nil {
		m.opts = *o
	}
	m.opts.BaseURL = cmp.Or(m.opts.BaseURL, DefaultBaseURL)
	m.opts.Provider = cmp.Or(m.opts.Provider, "anthropic")
	accepts := llm.Accepts{Images: true, Documents: true}
	if m.opts.Accepts != nil {
		accepts = *m.opts.Accepts
		accepts.Audio = false // not supported by the API
	}
	m.info = llm.Info{
		Provider: m.opts.Provider, Name: name, Context: m.opts.Context,
		Limits: llm.NameLimits{MaxLen: 64}, Accepts: accepts,
		Efforts: m.opts.Efforts, MaxOutput: m.opts.MaxOutput, Prices: m.opts.Prices,
	}
	if m.info.Efforts == nil {
		m.info.Efforts = effortsOf(name)
	}
	if m.info.Context == 0 && strings.HasPrefix(name, "claude") {
		m.info.Context = 200_000
	}
	m.client = wire.Client{
		Provider: m.opts.Provider, HTTP: m.opts.Client, Secrets: []string{m.opts.Key, m.opts.Token},
		Retry: wire.Retry{Attempts: m.opts.Attempts}, Idle: m.opts.Idle, Prices: m.opts.Prices, FirstByte: m.opts.FirstByte,
	}
	return m
}

// Info returns the description of the model.
func (m *Model) Info() llm.Info { return m.info }

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	body, tools, err := m.encode(r, m.reducer.Level(r.Effort))
	if err != nil {
		return wire.Failed(&llm.Error{Kind: llm.ErrBadRequest, Provider: m.opts.Provider, Message: err.Error(), Err: err})
	}
	return m.client.Stream(ctx, wire.Call{
		URL:    wire.URL(m.opts.BaseURL, "/v1/messages"),
		Header: m.header(),
		Body:   body,
		Parser: func() wire.Parser { return &parser{calls: wire.Calls{Restore: tools.Restore}} },
		Reduce: m.reducer.Reduce(m.info.Name, r.Effort, len(body), func(level int) ([]byte, error) {
			b, _, err := m.encode(r, level)
			return b, err
		}),
	})
}

func (m *Model) header() http.Header {
	h := http.Header{}
	for name, values := range m.opts.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	Authorize(h, m.opts.KeyHeader, m.opts.Key)
	if m.opts.Token != "" {
		h.Set("Authorization", "Bearer "+m.opts.Token)
	}
	return h
}

// AdaptSchema returns the schema that the API is sent for a tool's schema, and a
// text to add to the tool's description.
//
// The API requires an object without oneOf, anyOf or allOf at the root, and
// restricts the names of its properties. It accepts the rest of JSON Schema
// 2020-12.
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

// Authorize sets the headers for the key and the version of the API. An empty
// header means x-api-key.
func Authorize(h http.Header, header, key string) {
	h.Set("Anthropic-Version", version)
	wire.SetKey(h, cmp.Or(header, "X-Api-Key"), key)
}

var (
	newStyle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?:[-@].*)?$`)
	})
	oldStyle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^claude-(\d{1,2})(?:[-.](\d{1,2}))?-[a-z]`) })
)

// versionOf returns 405 for claude-sonnet-4-5, 307 for claude-3-7-sonnet, 9900
// for a claude name without a number, and 0 for other models.
func versionOf(name string) int {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, form := range []*regexp.Regexp{newStyle(), oldStyle()} {
		if f := form.FindStringSubmatch(name); f != nil {
			major, _ := strconv.Atoi(f[1])
			minor, _ := strconv.Atoi(f[2])
			return major*100 + minor
		}
	}
	if strings.HasPrefix(name, "claude-2") || strings.HasPrefix(name, "claude-instant") {
		return 200
	}
	if strings.HasPrefix(name, "claude") {
		return 9900
	}
	return 0
}

// defaultMaxTokens returns the limit for a request without one: the most that
// every model of the version supports.
func defaultMaxTokens(name string) int {
	switch v := versionOf(name); {
	case v >= 307:
		return 32_000
	case v >= 305 || v == 0:
		return 8192
	}
	return 4096
}
