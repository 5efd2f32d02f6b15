// Package llmtest has a provider for tests: a local server with the three APIs
// that rejects what the real ones reject and returns the given answers.
package llmtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/sse"
)

// Key is the API key that the server accepts.
const Key = "sk-llmtest-0123456789abcdef"

// A Turn is one answer of the server.
type Turn struct {
	Thinking  []string // pieces
	Signature string   // sent with thinking: a signature or encrypted content
	Redacted  string   // a redacted thinking block; Messages only
	Text      []string // pieces
	Refusal   string   // sent instead of text
	Calls     []llm.ToolCall
	Stop      llm.StopReason // "" means derived from the rest
	Usage     llm.Usage

	SignatureInPieces bool // Messages only

	Status int         // if not 0, the answer is an error with this status
	Body   string      // body of an error; "" means one in the provider's form
	Header http.Header // of the answer

	Fail string // if not "", an error with this text follows the content
	Cut  bool   // close the connection after the content
	Hang bool   // send nothing after the content until the client disconnects
}

// A Request is a request that the server received.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// A Server answers with one turn after the other and repeats the last one.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	turns    []Turn
	requests []Request
	refusals []Refusal
	answers  func(body []byte) Turn
	gone     chan struct{} // a client disconnected from a turn with Hang
	closing  chan struct{}
}

// New starts a server that is closed at the end of the test.
func New(t testing.TB, turns ...Turn) *Server {
	s := &Server{turns: turns, gone: make(chan struct{}, 64), closing: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve(messages{}))
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chat{}))
	mux.HandleFunc("POST /v1/responses", s.serve(responses{}))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(s.closing)
		s.Server.Client().CloseIdleConnections()
		s.Server.Close()
	})
	return s
}

// NewFunc starts a server whose answers depend on the requests. It is closed at the
// end of the test.
func NewFunc(t testing.TB, answer func(body []byte) Turn) *Server {
	s := New(t)
	s.answers = answer
	return s
}

// V1 returns the base URL of OpenAI's APIs; that of Anthropic is s.URL.
func (s *Server) V1() string { return s.URL + "/v1" }

// Requests returns all requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last returns the body of the last request.
func (s *Server) Last() []byte {
	all := s.Requests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Body
}

// Gone receives a value when a client disconnects from a turn with Hang.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// A wire is one of the three APIs.
type wire interface {
	key(h http.Header) string
	check(body map[string]any) string // why the provider rejects the request, or ""
	stream(t Turn, model string, send func(name string, data any))
	fail(message string) (name string, data any) // an error in the stream
	refusal(status int, message string) any      // the body of an error
	end(send func(string, any), t Turn)          // the end of a complete stream
}

func (s *Server) serve(f wire) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), body})
		s.mu.Unlock()
		var request map[string]any
		bad := json.Unmarshal(body, &request)
		if message := s.refused(request); message != "" && f.key(r.Header) == Key {
			s.refuse(w, f, Turn{}, 400, message)
			return
		}
		turn := s.next(body)
		for name, values := range turn.Header {
			w.Header()[name] = values
		}
		status, message := turn.Status, "error set by the test"
		if f.key(r.Header) != Key {
			status, message = 401, "invalid api key"
		} else if bad != nil {
			status, message = 400, "the body is not JSON: "+bad.Error()
		} else if status == 0 {
			if message = f.check(request); message != "" {
				status = 400
			}
		}
		if status != 0 {
			s.refuse(w, f, turn, status, message)
			return
		}
		s.answer(w, r, f, turn, fmt.Sprint(request["model"]))
	}
}

// next returns the turn of the next answer.
func (s *Server) next(body []byte) Turn {
	if s.answers != nil {
		return s.answers(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.turns[0]
	if len(s.turns) > 1 {
		s.turns = s.turns[1:]
	}
	return turn
}

func (s *Server) refuse(w http.ResponseWriter, f wire, t Turn, status int, message string) {
	if t.Body != "" && status == t.Status {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, t.Body)
		return
	}
	body, err := json.Marshal(f.refusal(status, message))
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // in one piece, which quirky makes one event of
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, f wire, t Turn, model string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(name string, data any) {
		text, ok := data.(string)
		if !ok {
			raw, err := json.Marshal(data, json.Deterministic(true))
			if err != nil {
				panic(err)
			}
			text = string(raw)
		}
		_, _ = w.Write(sse.Append(nil, sse.Event{Name: name, Data: []byte(text)}))
		_ = http.NewResponseController(w).Flush()
	}
	f.stream(t, model, send)
	switch {
	case t.Fail != "":
		send(f.fail(t.Fail))
	case t.Cut:
		return
	case t.Hang:
		select {
		case <-r.Context().Done():
			s.gone <- struct{}{}
		case <-s.closing:
		case <-time.After(time.Minute):
		}
	default:
		f.end(send, t)
	}
}

// pieces cuts a text into pieces of 7 characters.
func pieces(s string) []string {
	var out []string
	for c := range slices.Chunk([]rune(s), 7) {
		out = append(out, string(c))
	}
	return out
}

func (t Turn) stop() llm.StopReason {
	switch {
	case t.Stop != "":
		return t.Stop
	case t.Refusal != "":
		return llm.StopRefusal
	case len(t.Calls) > 0:
		return llm.StopToolCalls
	}
	return llm.StopEnd
}

// object is a JSON object.
type object = map[string]any

var (
	idForm     = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	nameForm   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	namesTight = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// checkTools checks what all three APIs require of a tool: its name, a root that
// is an object and has no oneOf, anyOf or allOf, and items for arrays.
func checkTools(body map[string]any, take func(object) (string, any), properties *regexp.Regexp) string {
	seen := map[string]bool{}
	for i, v := range list(body["tools"]) {
		tool, _ := v.(object)
		name, schema := take(tool)
		at := fmt.Sprintf("tools.%d", i)
		if !nameForm.MatchString(name) || seen[name] {
			return at + ".name: must be unique and match ^[a-zA-Z0-9_-]{1,64}$"
		}
		seen[name] = true
		root, ok := schema.(object)
		if !ok || root["type"] != "object" {
			return at + ": the schema must have type 'object' at the top level"
		}
		for _, k := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
			if root[k] != nil {
				return at + ": the schema may not have '" + k + "' at the top level"
			}
		}
		props, _ := root["properties"].(object)
		for name := range props {
			if properties != nil && !properties.MatchString(name) {
				return at + ".input_schema.properties: Property keys should match pattern"
			}
		}
		if hasBareArray(root) {
			return at + ": array schema missing items"
		}
	}
	return ""
}

func hasBareArray(v any) bool {
	switch v := v.(type) {
	case object:
		if v["type"] == "array" && v["items"] == nil && v["prefixItems"] == nil {
			return true
		}
		for name, inner := range v {
			if name != "default" && name != "enum" && name != "examples" && hasBareArray(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasBareArray)
	}
	return false
}

func countMarks(v any) int {
	n := 0
	switch v := v.(type) {
	case object:
		if v["cache_control"] != nil {
			n++
		}
		for _, inner := range v {
			n += countMarks(inner)
		}
	case []any:
		for _, inner := range v {
			n += countMarks(inner)
		}
	}
	return n
}
