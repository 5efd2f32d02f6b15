// Package llmtest is a provider in a test: a local server that speaks the three
// wires as the real ones do, refuses what they refuse, and answers what it was
// told to.
package llmtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/sse"
)

// Key is the key that the server takes.
const Key = "sk-llmtest-0123456789abcdef"

// A Turn is one answer of the server.
type Turn struct {
	Thinking  []string // pieces
	Signature string   // what the provider gives with thinking: a signature, or encrypted content
	Redacted  string   // a redacted block of thinking; Messages only
	Text      []string // pieces
	Refusal   string   // said instead of text
	Calls     []llm.ToolCall
	Stop      llm.StopReason // "" means what follows from the rest
	Usage     llm.Usage

	Status int         // not 0: the answer is an error with this status
	Body   string      // the body of an error; "" means one in the provider's form
	Header http.Header // of the answer

	Fail string // not "": after the content comes an error with this text
	Cut  bool   // after the content the connection ends
	Hang bool   // after the content nothing more comes until the client goes
}

// A Request is what the server was sent.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// A Server answers one turn after the other, and the last one for ever.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	turns    []Turn
	requests []Request
	gone     chan struct{} // a client went away while its answer hung
	closing  chan struct{}
}

// New starts a server that ends with the test.
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

// V1 is the base URL of the wires of OpenAI; that of Anthropic is s.URL.
func (s *Server) V1() string { return s.URL + "/v1" }

// Requests are all requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last is the body of the last request.
func (s *Server) Last() []byte {
	all := s.Requests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Body
}

// Gone is sent to when a client goes away from a turn that hangs.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// A wire is one of the formats.
type wire interface {
	key(h http.Header) string
	check(body map[string]any) string // what the provider would refuse, or ""
	stream(t Turn, model string, send func(name string, data any))
	fail(message string) (name string, data any) // an error in the middle of a stream
	refusal(status int, message string) any      // the body of an error
	end(send func(string, any), t Turn)          // what ends a stream that was not cut
}

func (s *Server) serve(f wire) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), body})
		turn := s.turns[0]
		if len(s.turns) > 1 {
			s.turns = s.turns[1:]
		}
		s.mu.Unlock()
		for name, values := range turn.Header {
			w.Header()[name] = values
		}
		var request map[string]any
		status, message := turn.Status, "the test wants it so"
		if f.key(r.Header) != Key {
			status, message = 401, "invalid api key"
		} else if err := json.Unmarshal(body, &request); err != nil {
			status, message = 400, "the body is not JSON: "+err.Error()
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

func (s *Server) refuse(w http.ResponseWriter, f wire, t Turn, status int, message string) {
	if t.Body != "" && status == t.Status {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, t.Body)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, f.refusal(status, message))
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

// pieces cuts a text as models do: anywhere, also inside a word, never inside a
// character.
func pieces(s string) []string {
	var out []string
	runes := []rune(s)
	for len(runes) > 0 {
		n := min(len(runes), 7)
		out = append(out, string(runes[:n]))
		runes = runes[n:]
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
