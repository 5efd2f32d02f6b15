package llmtest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
)

// The APIs of a [Profile].
const (
	WireChat      = ""          // OpenAI's Chat Completions
	WireMessages  = "messages"  // Anthropic's Messages
	WireResponses = "responses" // OpenAI's Responses
)

// A Profile is how a product differs from the original of its API.
type Profile struct {
	Wire    string // the API
	Dialect string // of package openai

	Path      string            // of the API; "" means /v1
	KeyHeader string            // header of the key; "" means Authorization
	Query     map[string]string // that every request must have
	Refuses   []string          // members of the request that are rejected

	Thinking string // member of a piece with thinking; "<think>" and "<thought>": tags in the text; "" means reasoning_content
	Comments bool   // comments between the events
	Blank    bool   // empty events and keep-alive lines between the events
	Prefix   bool   // a first chunk without choices
	Parts    bool   // content is a list of parts
	CRLF     bool   // lines end with CR LF

	NoUsage       bool // there is no usage
	UsageEach     bool // every chunk has the usage so far
	UsageInFinish bool // the usage is in the chunk with the finish reason
	NoIDs         bool // calls have no id
	SameIDs       bool // all calls of all answers have the same id
	NoIndex       bool // calls have no index
	SameIndex     bool // all calls have index 0
	Whole         bool // a call comes in one piece
	Objects       bool // arguments are an object instead of a string
	StopWithCalls bool // the finish reason of an answer with calls is "stop"
	NoDone        bool // there is no [DONE]
	Signs         bool // calls have a signature in extra_content that must come back

	// Of Messages:
	NoPing      bool // there are no pings
	NoSignature bool // thinking has no signature
	UsageLate   bool // all usage is in message_delta

	// Of Responses, whose Thinking may be reasoning_text instead of a summary:
	OnlyDone bool // items come only when they are complete
	NoOutput bool // response.completed repeats no items
	WithDone bool // [DONE] follows

	NoNames bool // events have no name, only data; of Messages and Responses

	ErrorsWithin bool // errors have status 200 and are an event
	PlainErrors  bool // the body of an error is {"error": "text"}
}

// Profiles are products and their quirks, as their documentation and their bug
// reports describe them.
var Profiles = map[string]Profile{
	"litellm":          {Dialect: "plain", Prefix: true, Comments: true, UsageInFinish: true, ErrorsWithin: true},
	"azure":            {Dialect: "azure", Path: "/openai/deployments/m", KeyHeader: "Api-Key", Query: map[string]string{"api-version": "2024-10-21"}, Prefix: true, Refuses: []string{"stream_options"}, NoUsage: true},
	"vllm":             {Dialect: "vllm", Thinking: "reasoning", UsageEach: true, SameIndex: false, StopWithCalls: true},
	"vllm, older":      {Dialect: "vllm", Thinking: "reasoning_content", Whole: true, NoIDs: true, PlainErrors: true},
	"ollama":           {Dialect: "ollama", Thinking: "<think>", Whole: true, StopWithCalls: true, SameIndex: true, PlainErrors: true},
	"lmstudio":         {Dialect: "lmstudio", Thinking: "<think>", NoUsage: true, SameIDs: true, Blank: true, NoDone: true},
	"openrouter":       {Dialect: "openrouter", Path: "/api/v1", Thinking: "reasoning", Comments: true, ErrorsWithin: true, UsageInFinish: true},
	"gemini":           {Dialect: "gemini", Path: "/v1beta/openai", Thinking: "<thought>", Whole: true, NoIndex: true, StopWithCalls: true, Signs: true, UsageEach: true, Refuses: []string{"prompt_cache_key"}},
	"mistral":          {Dialect: "mistral", Parts: true, Whole: true, UsageInFinish: true},
	"a small server":   {Dialect: "plain", Objects: true, NoIDs: true, NoIndex: true, StopWithCalls: true, NoUsage: true, NoDone: true, CRLF: true, Refuses: []string{"stream_options"}},
	"a copy of OpenAI": {Dialect: "plain"},

	"anthropic":                {Wire: WireMessages},
	"a gateway with a bearer":  {Wire: WireMessages, KeyHeader: "Authorization", NoPing: true, Comments: true},
	"litellm, messages":        {Wire: WireMessages, UsageLate: true, NoPing: true, Whole: true, NoNames: true},
	"ollama, messages":         {Wire: WireMessages, NoPing: true, NoSignature: true, Objects: true, SameIDs: true, UsageLate: true},
	"a small messages server":  {Wire: WireMessages, NoPing: true, NoSignature: true, Whole: true, NoNames: true, NoUsage: true, Blank: true, CRLF: true, PlainErrors: true},
	"openai":                   {Wire: WireResponses, Dialect: "openai"},
	"azure, responses":         {Wire: WireResponses, Dialect: "azure", Path: "/openai/v1", KeyHeader: "Api-Key", Query: map[string]string{"api-version": "preview"}, Refuses: []string{"prompt_cache_key"}},
	"openrouter, responses":    {Wire: WireResponses, Dialect: "openrouter", Path: "/api/v1", Comments: true, Thinking: "reasoning_text", NoOutput: true, WithDone: true},
	"vllm, responses":          {Wire: WireResponses, Dialect: "vllm", Thinking: "reasoning_text", NoNames: true, Whole: true},
	"lmstudio, responses":      {Wire: WireResponses, Dialect: "lmstudio", Thinking: "reasoning_text", OnlyDone: true, Whole: true, SameIDs: true, NoUsage: true},
	"a small responses server": {Wire: WireResponses, Dialect: "plain", Thinking: "reasoning_text", OnlyDone: true, NoOutput: true, NoNames: true, NoUsage: true, CRLF: true, PlainErrors: true},
}

// NewProduct starts a server that speaks an API as a product does. It is closed at
// the end of the test.
func NewProduct(t testing.TB, p Profile, turns ...Turn) *Server {
	s := &Server{turns: turns, gone: make(chan struct{}, 64), closing: make(chan struct{})}
	mux := http.NewServeMux()
	path := p.Path
	if path == "" {
		path = "/v1"
	}
	for _, m := range p.Refuses {
		s.Refuse(Refusal{m, "Unrecognized request argument supplied: " + m})
	}
	var serve http.HandlerFunc
	switch p.Wire {
	case WireMessages:
		serve, path = s.serve(reshaped{messages{}, p}), path+"/messages"
	case WireResponses:
		serve, path = s.serve(reshaped{responses{}, p}), path+"/responses"
	default:
		serve, path = s.serve(product{p}), path+"/chat/completions"
	}
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range p.Query {
			if r.URL.Query().Get(name) != value {
				http.Error(w, `{"error":{"code":"404","message":"Resource not found"}}`, http.StatusNotFound)
				return
			}
		}
		w = &quirky{ResponseWriter: w, p: p}
		serve(w, r)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(s.closing)
		s.Server.Client().CloseIdleConnections()
		s.Server.Close()
	})
	return s
}

// Base returns the base URL of a product, with its query. That of Messages ends
// before /v1.
func (p Profile) Base(s *Server) string {
	if p.Wire == WireMessages {
		return s.URL + p.Path
	}
	path := p.Path
	if path == "" {
		path = "/v1"
	}
	var query []string
	for _, name := range slices.Sorted(maps.Keys(p.Query)) {
		query = append(query, name+"="+p.Query[name])
	}
	if query != nil {
		path += "?" + strings.Join(query, "&")
	}
	return s.URL + path
}

// quirky writes comments, blank lines and other line ends between the events, and
// errors with status 200.
type quirky struct {
	http.ResponseWriter
	p      Profile
	within bool // the body is an error within a stream
}

func (q *quirky) Unwrap() http.ResponseWriter { return q.ResponseWriter }

func (q *quirky) WriteHeader(status int) {
	// What a provider says before it has begun to answer has a status: only its own
	// errors come within the stream.
	if q.p.ErrorsWithin && status >= 500 {
		q.within, status = true, http.StatusOK
		q.Header().Set("Content-Type", "text/event-stream")
	}
	q.ResponseWriter.WriteHeader(status)
}

func (q *quirky) Write(data []byte) (int, error) {
	text := string(data)
	if q.within {
		text = "data: " + strings.TrimSpace(text) + "\n\n"
	}
	if strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "event:") {
		if q.p.Comments {
			text = ": PROCESSING\n\n" + text
		}
		if q.p.Blank {
			text = "\n:\n\ndata:\n\n" + text
		}
		if q.p.CRLF {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
	}
	if _, err := io.WriteString(q.ResponseWriter, text); err != nil {
		return 0, err
	}
	return len(data), nil
}

// product is the Chat Completions API of a product.
type product struct{ Profile }

func (p product) key(h http.Header) string {
	if p.KeyHeader != "" {
		return h.Get(p.KeyHeader)
	}
	return bearer(h)
}

func (p product) check(body map[string]any) string {
	if wrong := (chat{}).check(body); wrong != "" {
		return wrong
	}
	if !p.Signs {
		return ""
	}
	for i, v := range list(body["messages"]) {
		m, _ := v.(object)
		for _, c := range list(m["tool_calls"]) {
			call, _ := c.(object)
			if !has(call, "extra_content.google.thought_signature") {
				return fmt.Sprintf("messages.%d: Function call is missing a thought_signature in functionCall parts", i)
			}
		}
	}
	return ""
}

func (p product) stream(t Turn, model string, send func(string, any)) {
	say := func(delta object) {
		c := chunk(delta, nil)
		if p.UsageEach {
			c["usage"] = usageOf(t.Usage)
		}
		send("", c)
	}
	if p.Prefix {
		c := chunk(nil, nil)
		c["choices"], c["prompt_filter_results"] = []any{}, []any{}
		send("", c)
	}
	say(object{"role": "assistant", "content": ""})
	p.think(t, say)
	for _, s := range t.Text {
		if p.Parts {
			say(object{"content": []any{object{"type": "text", "text": s}}})
			continue
		}
		say(object{"content": s})
	}
	for _, s := range pieces(t.Refusal) {
		say(object{"content": s})
	}
	for i, c := range t.Calls {
		p.call(i, c, say)
	}
}

// think sends the thinking of a turn.
func (p product) think(t Turn, say func(object)) {
	if len(t.Thinking) == 0 {
		return
	}
	tag, tagged := strings.CutPrefix(p.Thinking, "<")
	switch {
	case tagged:
		say(object{"content": p.Thinking})
		for _, s := range t.Thinking {
			say(object{"content": s})
		}
		say(object{"content": "</" + tag})
	case p.Parts:
		for _, s := range t.Thinking {
			say(object{"content": []any{object{"type": "thinking", "thinking": []any{object{"type": "text", "text": s}}}}})
		}
	default:
		member := p.Thinking
		if member == "" {
			member = "reasoning_content"
		}
		for _, s := range t.Thinking {
			say(object{member: s, "content": nil})
		}
	}
}

// call sends a call in the form of the product.
func (p product) call(i int, c llm.ToolCall, say func(object)) {
	id := c.ID
	switch {
	case p.NoIDs:
		id = ""
	case p.SameIDs:
		id = "call_0"
	}
	entry := func(function object) object {
		o := object{"type": "function", "function": function}
		switch {
		case p.SameIndex:
			o["index"] = 0
		case !p.NoIndex:
			o["index"] = i
		}
		return o
	}
	var arguments any = string(c.Arguments)
	if p.Objects {
		var o any
		_ = json.Unmarshal(c.Arguments, &o)
		arguments = o
	}
	whole := p.Whole || p.Objects || p.NoIndex
	first := object{"name": c.Name, "arguments": ""}
	if whole {
		first["arguments"] = arguments
	}
	o := entry(first)
	if id != "" {
		o["id"] = id
	}
	if p.Signs {
		o["extra_content"] = object{"google": object{"thought_signature": "c2ln"}}
	}
	say(object{"tool_calls": []any{o}})
	if whole {
		return
	}
	for _, s := range pieces(string(c.Arguments)) {
		say(object{"tool_calls": []any{entry(object{"arguments": s})}})
	}
}

func usageOf(u llm.Usage) object {
	return object{"prompt_tokens": u.Read(), "completion_tokens": u.Output, "total_tokens": u.Read() + u.Output}
}

func (p product) end(send func(string, any), t Turn) {
	finish := chatStops[t.stop()]
	if p.StopWithCalls && finish == "tool_calls" {
		finish = "stop"
	}
	c := chunk(object{}, finish)
	if p.UsageInFinish || p.UsageEach {
		c["usage"] = usageOf(t.Usage)
	}
	send("", c)
	if !p.NoUsage && !p.UsageInFinish && !p.UsageEach {
		last := chunk(nil, nil)
		last["choices"], last["usage"] = []any{}, usageOf(t.Usage)
		send("", last)
	}
	if !p.NoDone {
		send("", "[DONE]")
	}
}

func (p product) fail(message string) (string, any) {
	if p.PlainErrors {
		return "", object{"error": message}
	}
	return "", object{"error": object{"message": message, "code": 502}}
}

func (p product) refusal(status int, message string) any {
	if p.PlainErrors {
		return object{"error": message}
	}
	return openaiRefusal(status, message)
}
