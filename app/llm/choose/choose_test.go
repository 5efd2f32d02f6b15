package choose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// world is a network in which some hosts answer.
type world map[string]http.HandlerFunc // by host

func (w world) RoundTrip(r *http.Request) (*http.Response, error) {
	h := w[r.URL.Host]
	if h == nil {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	rec := httptest.NewRecorder()
	h(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

func says(path, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, body)
	}
}

func wants(key string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != key && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(401)
			return
		}
		h(w, r)
	}
}

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const claudes = `{"data":[{"id":"claude-opus-5","created_at":"2026-09-01T00:00:00Z","max_input_tokens":1000000,"max_tokens":128000},{"id":"claude-sonnet-5","created_at":"2026-08-01T00:00:00Z","max_input_tokens":500000,"max_tokens":64000},{"id":"claude-sonnet-4-5","created_at":"2025-09-29T00:00:00Z"}]}`

func TestAuto(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   []string
		ring  map[string]string
		world world
		want  string // the model, or the error
		why   string
		also  string
	}{
		{"nothing", nil, nil, nil, "no model was found: no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY,", "", ""},
		{"a key", []string{"ANTHROPIC_API_KEY", "k"}, nil, world{"api.anthropic.com": wants("k", says("/v1/models", claudes))}, "anthropic/claude-sonnet-5", "found the key for anthropic in ANTHROPIC_API_KEY", ""},
		{"two keys", []string{"OPENAI_API_KEY", "o", "ANTHROPIC_API_KEY", " k\n"}, nil, world{"api.anthropic.com": wants("k", says("/v1/models", claudes))}, "anthropic/claude-sonnet-5", "", "openai"},
		{"a rejected key is an error (H5)", []string{"OPENAI_API_KEY", "o", "ANTHROPIC_API_KEY", "bad"}, nil, world{
			"api.anthropic.com": wants("k", says("/v1/models", claudes)),
			"api.openai.com":    says("/v1/models", `{"object":"list","data":[{"id":"gpt-5","created":1}]}`),
			"127.0.0.1:8000":    says("/v1/models", `{"object":"list","data":[{"id":"m"}]}`),
		}, "use the key in ANTHROPIC_API_KEY: anthropic: the API key was rejected", "", ""},
		{"a key without a network is an error (H5)", []string{"OPENAI_API_KEY", "o"}, nil, world{"127.0.0.1:8000": says("/v1/models", `{"object":"list","data":[{"id":"m"}]}`)}, "use the key in OPENAI_API_KEY: openai: connection failed: no server at https://api.openai.com", "", ""},
		{"the newest of many", []string{"OPENAI_API_KEY", "o"}, nil, world{
			"api.openai.com": wants("o", says("/v1/models", `{"object":"list","data":[{"id":"gpt-5","created":1},{"id":"gpt-5.4","created":3},{"id":"gpt-6-audio","created":9},{"id":"text-embedding-3","created":9}]}`)),
		}, "openai/gpt-5.4", "", ""},
		{"from the keyring", nil, map[string]string{"openrouter": "r"}, world{"openrouter.ai": wants("r", says("/api/v1/models", `{"data":[{"id":"x/y"},{"id":"openrouter/auto","context_length":2000000}]}`))}, "openrouter/openrouter/auto", "in the keyring", ""},
		{"Ollama", nil, nil, world{"127.0.0.1:11434": says("/v1/models", `{"object":"list","data":[{"id":"nomic-embed-text:latest"},{"id":"qwen3:8b"},{"id":"llama3"}]}`)}, "ollama/qwen3:8b", "ollama is running at http://127.0.0.1:11434; chosen from its 3 models", ""},
		{"Ollama elsewhere", []string{"OLLAMA_HOST", "0.0.0.0:9999"}, nil, world{"127.0.0.1:9999": says("/v1/models", `{"object":"list","data":[{"id":"m"}]}`)}, "ollama/m", "at http://127.0.0.1:9999", ""},
		{"a key before a local server", []string{"ANTHROPIC_API_KEY", "k"}, nil, world{"api.anthropic.com": says("/v1/models", claudes), "127.0.0.1:8000": says("/v1/models", `{"object":"list","data":[{"id":"m","max_model_len":32768}]}`)}, "anthropic/claude-sonnet-5", "", "vllm"},
		{"LM Studio says what is loaded", nil, nil, world{"127.0.0.1:1234": says("/api/v0/models", `{"data":[{"id":"a","type":"llm","state":"not-loaded"},{"id":"b","type":"vlm","state":"loaded","loaded_context_length":8192}]}`)}, "lmstudio/b", "", ""},
		{"something else on the port", nil, nil, world{"127.0.0.1:8080": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }}, "no model was found", "", ""},
		{"a web page on the port", nil, nil, world{"127.0.0.1:8080": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }}, "no model was found", "", ""},
		{"no model loaded", nil, nil, world{"127.0.0.1:11434": says("/v1/models", `{"object":"list","data":null}`)}, "ollama (http://127.0.0.1:11434): it is running but has no model", "", ""},
		{"a server that never answers", nil, nil, world{"127.0.0.1:8080": hangs, "127.0.0.1:8000": says("/v1/models", `{"object":"list","data":[{"id":"m"}]}`)}, "vllm/m", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				o := &Options{Getenv: env(test.env...), Client: &http.Client{Transport: test.world}, Keyring: func(p string) (string, error) { return test.ring[p], nil }}
				c, err := Model(t.Context(), "auto", o)
				got := fmt.Sprint(err)
				if err == nil {
					got = c.Model.Info().String()
					if !strings.Contains(c.Why, test.why) || strings.Join(c.Also, " ") != test.also {
						t.Errorf("why %q, also %q", c.Why, c.Also)
					}
				} else if _, key := errors.AsType[*KeyError](err); key == errors.Is(err, ErrNone) || key != (test.env != nil) {
					t.Errorf("ErrNone is for those who have configured nothing: %v", err)
				}
				if !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %s", got, test.want)
				}
				if d := time.Since(start); d > 3*time.Second {
					t.Errorf("it took %s", d)
				}
			})
		})
	}
}

func TestContextIsFoundOut(t *testing.T) {
	w := world{
		"api.anthropic.com": says("/v1/models", claudes),
		"127.0.0.1:8000":    says("/v1/models", `{"object":"list","data":[{"id":"m","max_model_len":32768}]}`),
		"127.0.0.1:11434": func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/models":
				fmt.Fprint(w, `{"object":"list","data":[{"id":"gemma3:latest"}]}`)
			case "/api/show":
				fmt.Fprint(w, `{"capabilities":["completion","vision","tools"],"model_info":{"gemma3.context_length":131072}}`)
			case "/api/ps":
				fmt.Fprint(w, `{"models":[{"name":"gemma3:latest","model":"gemma3:latest","context_length":4096}]}`)
			}
		},
	}
	for _, test := range []struct {
		name    string
		context int
		images  bool
	}{
		{"anthropic/claude-opus-5", 1_000_000, true},
		{"anthropic/claude-new", 200_000, true},
		{"vllm/m", 32768, false},
		{"ollama/gemma3", 4096, true},
		{"openai/gpt-4.1", 1_000_000, true},
		{"xai/grok-9", 0, false},
	} {
		o := &Options{Client: &http.Client{Transport: w}, Getenv: env("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "XAI_API_KEY", "k")}
		c, err := Model(t.Context(), test.name, o)
		if err != nil {
			t.Fatal(err)
		}
		if i := c.Model.Info(); i.String() != test.name || i.Context != test.context || i.Accepts.Images != test.images {
			t.Errorf("%s: %+v", test.name, i)
		}
	}
}

func TestNamesThatDoNotWork(t *testing.T) {
	for _, test := range []struct{ name, says string }{
		{"claude-sonnet-4-5", "did you mean anthropic/claude-sonnet-4-5?"},
		{"gpt-5", "did you mean openai/gpt-5?"},
		{"foo/bar", "use provider/name with a provider of anthropic, openai"},
		{"anthropic/x", "no API key for anthropic: set ANTHROPIC_API_KEY, or run tenon auth key anthropic"},
		{"gemini/x", "GEMINI_API_KEY or GOOGLE_API_KEY"},
		{"ollama", "no server at http://127.0.0.1:11434"},
		{"script:", "no such file"},
		{"replay:nowhere.jsonl", "no such file"},
		{"record:x.jsonl", "has no model"},
		{"record:x.jsonl:foo/bar", "use provider/name with a provider of"},
	} {
		_, err := Model(t.Context(), test.name, &Options{Getenv: env(), Client: &http.Client{Transport: world{}}})
		if err == nil || !strings.Contains(err.Error(), test.says) || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := Model(t.Context(), "none", nil); err != ErrNone {
		t.Errorf("none: %v", err)
	}
	_, err := Model(t.Context(), "openai/x", &Options{Getenv: env(), Keyring: func(string) (string, error) { return "", errors.New("locked") }})
	if err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("keyring: %v", err)
	}
}

// A key is sent to its own provider and never shown.
func TestKeysStayHome(t *testing.T) {
	w := world{}
	for _, host := range []string{"127.0.0.1:11434", "127.0.0.1:1234", "127.0.0.1:8080", "127.0.0.1:8000"} {
		w[host] = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "" {
				t.Errorf("%s was sent a key", host)
			}
			w.WriteHeader(404)
		}
	}
	w["api.openai.com"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://evil.test/")
		w.WriteHeader(302)
	}
	w["evil.test"] = func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }
	_, err := Model(t.Context(), "auto", &Options{Getenv: env("OPENAI_API_KEY", "sk-secret"), Client: &http.Client{Transport: w}})
	if err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("got %v", err)
	}
}

// record:FILE:MODEL around a provider, and replay:FILE after it.
func TestRecordThenReplay(t *testing.T) {
	s := llmtest.New(t, llmtest.Turn{Text: []string{"Hello", " there."}})
	file := filepath.Join(t.TempDir(), "a.jsonl")
	o := &Options{Getenv: env(), Client: s.Client(), Providers: map[string]Provider{"mine": {BaseURL: s.V1(), Key: llmtest.Key}}}
	c, err := Model(t.Context(), "record:"+file+":mine/some:model", o)
	if err != nil {
		t.Fatal(err)
	}
	r := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
	first, err := llm.Ask(t.Context(), c.Model, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(file); strings.Contains(string(raw), llmtest.Key) {
		t.Errorf("the key was recorded: %s", raw)
	}
	c, err = Model(t.Context(), "replay:"+file, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := llm.Ask(context.Background(), c.Model, r)
	if err != nil || second.Message.Text() != first.Message.Text() || first.Message.Text() != "Hello there." {
		t.Errorf("%+v, %v", second, err)
	}
	if i := c.Model.Info(); i.String() != "mine/some:model" {
		t.Errorf("info %+v", i)
	}
}

func TestSurvey(t *testing.T) {
	w := world{"127.0.0.1:8000": says("/v1/models", `{"object":"list","data":[{"id":"m"},{"id":"n"}]}`), "127.0.0.1:8080": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }}
	got := fmt.Sprintf("%+v", Survey(t.Context(), &Options{Getenv: env("XAI_API_KEY", "k"), Client: &http.Client{Transport: w}}))
	want := "[{Provider:xai Where:XAI_API_KEY Models:[] Problem: Local:false} {Provider:llamacpp Where:http://127.0.0.1:8080 Models:[] Problem:it requires an API key Local:true} {Provider:vllm Where:http://127.0.0.1:8000 Models:[m n] Problem: Local:true}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	names, err := Models(t.Context(), "vllm", &Options{Getenv: env(), Client: &http.Client{Transport: w}})
	if err != nil || strings.Join(names, " ") != "m n" {
		t.Errorf("%v, %v", names, err)
	}
}
