package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
)

// modelProducts are answers as the products of docs/models.md give them, by
// provider and path.
var modelProducts = map[string]struct {
	key    string // header and value
	list   string
	path   string
	stream []string
	member string // in the request
}{
	"litellm": {path: "/v1/chat/completions", list: `{"data":[{"id":"claude-sonnet","object":"model"}],"object":"list"}`,
		stream: []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":"he"}}]}`, `{"choices":[{"index":0,"delta":{"content":"llo"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, `[DONE]`}},
	"azure": {key: "Api-Key: secret-key-0123456789", path: "/openai/v1/responses", member: `"reasoning":{"summary":"auto"}`,
		stream: []string{`{"type":"response.created","response":{}}`, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hello"}`, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]}],"usage":{"input_tokens":3,"output_tokens":2}}}`}},
	"vllm": {key: "Authorization: Bearer secret-key-0123456789", path: "/v1/chat/completions", list: `{"object":"list","data":[{"id":"Qwen/Qwen3-32B","max_model_len":40960}]}`,
		stream: []string{`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`, `{"choices":[{"index":0,"delta":{"content":"hello"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`}},
	"ollama": {path: "/v1/chat/completions", list: `{"object":"list","data":[{"id":"qwen3:8b"}]}`,
		stream: []string{`{"choices":[{"index":0,"delta":{"content":"<think>hm</think>hello"}}]}`, `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, `[DONE]`}},
	"lmstudio": {path: "/v1/chat/completions", list: `{"object":"list","data":[{"id":"qwen3-8b","type":"llm","state":"loaded","loaded_context_length":8192}]}`,
		stream: []string{`{"choices":[{"index":0,"delta":{"content":"hello"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`}},
	"openrouter": {key: "Authorization: Bearer secret-key-0123456789", path: "/api/v1/chat/completions", list: `{"data":[{"id":"anthropic/claude-sonnet-5","context_length":500000}]}`, member: `"usage":{"include":true}`,
		stream: []string{`: OPENROUTER PROCESSING`, `{"choices":[{"index":0,"delta":{"content":"hello"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"cost":0.5}}`, `[DONE]`}},
	"team": {key: "Authorization: Bearer secret-key-0123456789", path: "/v1beta/openai/chat/completions", list: `{"object":"list","data":[{"id":"models/gemini-3-pro"}]}`,
		stream: []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, `[DONE]`}},
}

// The examples of docs/models.md work: each is read out of the page and used
// against a server that answers as its product does.
func TestProvidersOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, block := range regexp.MustCompile("(?s)```jsonc\n(.*?)```").FindAllSubmatch(page, -1) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "tenon.json"), string(block[1]))
		p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, flags: flags{userDir: dir, project: dir}}
		for _, name := range []string{"AZURE_OPENAI_API_KEY", "VLLM_API_KEY", "OPENROUTER_API_KEY", "TEAM_GEMINI_KEY"} {
			t.Setenv(name, "secret-key-0123456789")
		}
		c, err := p.config()
		if err != nil {
			t.Errorf("%s\n%v", block[1], err)
			continue
		}
		provider, _, _ := strings.Cut(c.Settings().Model, "/")
		if _, ok := modelProducts[provider]; ok {
			seen++
			t.Run(provider, func(t *testing.T) { askProduct(t, p, provider, c.Settings()) })
		}
	}
	if seen != len(modelProducts) {
		t.Errorf("%d of %d examples were found", seen, len(modelProducts))
	}
}

func askProduct(t *testing.T, p *program, provider string, settings config.Settings) {
	product, body := modelProducts[provider], ""
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, value, _ := strings.Cut(product.key, ": ")
		switch {
		case product.key != "" && r.Header.Get(name) != value:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
			fmt.Fprint(w, product.list)
		case r.URL.Path != product.path:
			http.NotFound(w, r)
		default:
			data, _ := io.ReadAll(r.Body)
			body = string(data)
			w.Header().Set("Content-Type", "text/event-stream")
			for _, s := range product.stream {
				if !strings.HasPrefix(s, ":") {
					s = "data: " + s
				}
				fmt.Fprint(w, s+"\n\n")
			}
		}
	}))
	defer fake.Close()
	o := p.modelOptions()
	o.Client = &http.Client{Transport: sentTo(strings.TrimPrefix(fake.URL, "http://"))}
	c, err := choose.Model(t.Context(), settings.Model, o)
	if err != nil {
		t.Fatal(err)
	}
	effort := ""
	if len(c.Model.Info().Efforts) > 0 {
		effort = llm.EffortAuto
	}
	a, err := llm.Ask(t.Context(), c.Model, &llm.Request{Effort: effort, Messages: []llm.Message{llm.User("say hello")}})
	if err != nil || a.Message.Text() != "hello" || !strings.Contains(body, product.member) || c.Model.Info().String() != settings.Model {
		t.Errorf("%v %+v\n%s", err, a, body)
	}
}

// sentTo sends all requests to one address.
type sentTo string

func (s sentTo) RoundTrip(r *http.Request) (*http.Response, error) {
	copied := r.Clone(r.Context())
	copied.URL.Scheme, copied.URL.Host = "http", string(s)
	return http.DefaultTransport.RoundTrip(copied)
}
