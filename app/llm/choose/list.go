package choose

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
	"github.com/tenon-mcp/tenon/app/llm/openai"
)

// listed is a model in a provider's list.
type listed struct {
	ID        string
	Context   int
	MaxOutput int
	Created   int64
	Loaded    bool // in memory now
	Accepts   *llm.Accepts
	Efforts   []string
	Prices    llm.Prices

	limit int // of answers, if the user has set one
}

func (m ModelSpec) listed() listed {
	return listed{ID: m.Name, Context: m.Context, MaxOutput: m.MaxOutput, Accepts: m.Accepts, Efforts: m.Efforts, Prices: m.Prices, limit: m.MaxOutput}
}

func (l listed) spec() ModelSpec {
	return ModelSpec{Name: l.ID, Context: l.Context, MaxOutput: l.MaxOutput, Accepts: l.Accepts, Efforts: l.Efforts, Prices: l.Prices}
}

// entry is a model in the JSON of all providers. Each has its own name for the
// size of the context.
type entry struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`  // Ollama
	Model     string         `json:"model"` // Ollama
	Type      string         `json:"type"`  // LM Studio: llm, vlm, embeddings
	State     string         `json:"state"` // LM Studio: loaded
	Created   float64        `json:"created"`
	CreatedAt string         `json:"created_at"`
	MaxInput  int            `json:"max_input_tokens"`      // Anthropic
	MaxTokens int            `json:"max_tokens"`            // Anthropic
	MaxLen    int            `json:"max_model_len"`         // vLLM
	Length    int            `json:"context_length"`        // OpenRouter
	Window    int            `json:"context_window"`        // Groq
	MaxCtx    int            `json:"max_context_length"`    // Mistral, LM Studio
	LoadedCtx int            `json:"loaded_context_length"` // LM Studio
	Meta      jsontext.Value `json:"meta"`                  // llama.cpp
	Arch      struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"` // OpenRouter
}

func (e *entry) listed() listed {
	l := listed{ID: cmp.Or(e.ID, e.Name, e.Model), Created: int64(e.Created), MaxOutput: e.MaxTokens, Loaded: e.State == "loaded"}
	l.ID = strings.TrimPrefix(l.ID, "models/") // Gemini
	var meta struct {
		Ctx int `json:"n_ctx"`
	}
	_ = json.Unmarshal(e.Meta, &meta)
	l.Context = max(0, cmp.Or(e.LoadedCtx, e.MaxInput, e.MaxLen, e.Length, e.Window, e.MaxCtx, meta.Ctx))
	if t, err := time.Parse(time.RFC3339, e.CreatedAt); err == nil {
		l.Created = t.Unix()
	}
	if in := e.Arch.Input; in != nil {
		l.Accepts = &llm.Accepts{Images: slices.Contains(in, "image"), Audio: slices.Contains(in, "audio"), Documents: slices.Contains(in, "file")}
	}
	if e.Type == "vlm" {
		l.Accepts = &llm.Accepts{Images: true}
	}
	return l
}

// list returns the models of a provider. An error is an *llm.Error without the
// key.
func (c *chooser) list(ctx context.Context, p Provider, key string) ([]listed, error) {
	if p.Models != nil {
		var out []listed
		for _, m := range p.Models {
			out = append(out, m.listed())
		}
		return out, nil
	}
	return c.ask(ctx, p, key)
}

// ask requests the list of models.
func (c *chooser) ask(ctx context.Context, p Provider, key string) ([]listed, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	url := wire.URL(p.BaseURL, "/models")
	if p.Wire == "anthropic" {
		url = wire.URL(p.BaseURL, "/v1/models?limit=100")
	}
	if p.Dialect == "lmstudio" { // this list says which models are loaded
		url = strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1") + "/api/v0/models"
	}
	body, err := c.get(ctx, p, key, url)
	if err != nil && p.Dialect == "lmstudio" && llm.KindOf(err) == llm.ErrBadRequest {
		body, err = c.get(ctx, p, key, wire.URL(p.BaseURL, "/models"))
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
		Models []entry `json:"models"`
	}
	if err := json.Unmarshal(body, &answer, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, &llm.Error{Kind: llm.ErrServer, Provider: p.Name, Message: "invalid list of models: " + err.Error(), Err: err}
	}
	if answer.Data == nil && answer.Models == nil && answer.Object != "list" {
		return nil, &llm.Error{Kind: llm.ErrServer, Provider: p.Name, Message: "the server does not return a list of models"}
	}
	var out []listed
	for _, e := range append(answer.Data, answer.Models...) {
		l := e.listed()
		if l.ID != "" && e.Type != "embeddings" && !slices.ContainsFunc(out, func(o listed) bool { return o.ID == l.ID }) {
			out = append(out, l)
		}
	}
	return out, nil
}

func (c *chooser) get(ctx context.Context, p Provider, key, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Provider: p.Name, Message: "invalid base URL"}
	}
	for name, values := range p.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if p.Wire == "anthropic" {
		anthropic.Authorize(req.Header, p.KeyHeader, key)
	} else {
		openai.Authorize(req.Header, p.KeyHeader, key)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrNetwork, Provider: p.Name, Message: fmt.Sprintf("no server at %s://%s", req.URL.Scheme, req.URL.Host), Err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrNetwork, Provider: p.Name, Message: "the connection closed while reading the list of models", Err: err}
	}
	if res.StatusCode != http.StatusOK {
		kind := llm.ErrBadRequest
		switch {
		case res.StatusCode == 401 || res.StatusCode == 403:
			kind = llm.ErrAuth
		case res.StatusCode == 429:
			kind = llm.ErrRate
		case res.StatusCode >= 500:
			kind = llm.ErrServer
		}
		return nil, &llm.Error{Kind: kind, Provider: p.Name, Status: res.StatusCode, Message: "cannot list models"}
	}
	return body, nil
}

// lookup returns what the provider's list says about a model; only the ID is set
// if the list does not have it.
func (c *chooser) lookup(ctx context.Context, p Provider, key, model string) listed {
	for _, m := range p.Models {
		if m.Name == model {
			return m.listed()
		}
	}
	if !p.Local && !p.Lists || p.Models != nil {
		return listed{ID: model}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*c.probe)
	defer cancel()
	list, err := c.list(ctx, p, key)
	if err == nil {
		for _, l := range list {
			if l.ID == model || strings.TrimSuffix(l.ID, ":latest") == model {
				l.ID = model
				return l
			}
		}
	}
	return listed{ID: model}
}

// notChat matches models that do not take conversations.
var notChat = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)embed|rerank|whisper|\btts\b|transcribe|dall-e|moderation|\bsora\b|\bveo\b|imagen`)
})

// notForTalking matches models that are not chosen unless named.
var notForTalking = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)embed|rerank|whisper|tts|transcribe|dall-e|moderation|image|audio|realtime|search|sora|veo|imagen|codex|guard|ocr|preview|instruct-0914|nano-banana`)
})

// suggest returns a default model: one that is loaded, or else the newest that
// matches p.prefer, or else the first.
func (p Provider) suggest(list []listed) (listed, bool) {
	var fit []listed
	for _, l := range list {
		if !notForTalking().MatchString(l.ID) {
			fit = append(fit, l)
		}
	}
	if len(fit) == 0 {
		fit = list
	}
	if len(fit) == 0 {
		return listed{}, false
	}
	if i := slices.IndexFunc(fit, func(l listed) bool { return l.Loaded }); i >= 0 {
		return fit[i], true
	}
	for _, want := range p.prefer {
		var best *listed
		for i := range fit {
			if l := &fit[i]; want.MatchString(l.ID) && (best == nil || newer(l, best)) {
				best = l
			}
		}
		if best != nil {
			return *best, true
		}
	}
	return fit[0], true
}

// newer compares by date, and without dates by name.
func newer(a, b *listed) bool {
	if a.Created != b.Created {
		return a.Created > b.Created
	}
	return a.Created == 0 && a.ID > b.ID
}
