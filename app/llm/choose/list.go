package choose

import (
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
)

// listed is a model on a provider's list.
type listed struct {
	ID        string
	Context   int
	MaxOutput int
	Created   int64
	Loaded    bool // in memory now
	Accepts   *llm.Accepts
}

// entry is a model as the lists write it. Each server has its own word for the
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
	l := listed{ID: firstOf(e.ID, e.Name, e.Model), Created: int64(e.Created), MaxOutput: e.MaxTokens, Loaded: e.State == "loaded"}
	l.ID = strings.TrimPrefix(l.ID, "models/") // Gemini
	var meta struct {
		Ctx int `json:"n_ctx"`
	}
	_ = json.Unmarshal(e.Meta, &meta)
	for _, n := range []int{e.LoadedCtx, e.MaxInput, e.MaxLen, e.Length, e.Window, e.MaxCtx, meta.Ctx} {
		if n > 0 && l.Context == 0 {
			l.Context = n
		}
	}
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

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// list asks a provider what models it has. Whatever is wrong is an *llm.Error
// without the key in it.
func (c *chooser) list(ctx context.Context, p Provider, key string) ([]listed, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	url := strings.TrimRight(p.BaseURL, "/") + "/models"
	if p.Wire == "anthropic" {
		url = strings.TrimRight(p.BaseURL, "/") + "/v1/models?limit=100"
	}
	if p.Dialect == "lmstudio" { // its own list says what is loaded
		url = strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1") + "/api/v0/models"
	}
	body, err := c.get(ctx, p, key, url)
	if err != nil && p.Dialect == "lmstudio" && llm.KindOf(err) == llm.ErrBadRequest {
		body, err = c.get(ctx, p, key, strings.TrimRight(p.BaseURL, "/")+"/models")
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
		return nil, &llm.Error{Kind: llm.ErrServer, Provider: p.Name, Message: "its list of models cannot be read: " + err.Error(), Err: err}
	}
	if answer.Data == nil && answer.Models == nil && answer.Object != "list" {
		return nil, &llm.Error{Kind: llm.ErrServer, Provider: p.Name, Message: "what answers there lists no models: it is something else"}
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
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Provider: p.Name, Message: "the base URL is not a URL"}
	}
	for name, values := range p.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case p.Wire == "anthropic":
		anthropic.Authorize(req.Header, key)
	case key != "":
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrNetwork, Provider: p.Name, Message: fmt.Sprintf("nothing answers at %s://%s", req.URL.Scheme, req.URL.Host), Err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrNetwork, Provider: p.Name, Message: "its list of models broke off", Err: err}
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
		return nil, &llm.Error{Kind: kind, Provider: p.Name, Status: res.StatusCode, Message: "it does not list its models"}
	}
	return body, nil
}

// look finds out what can be found out about a model that was named. It is a
// courtesy: where nothing is found, the model is used as it is.
func (c *chooser) look(ctx context.Context, p Provider, key, model string) listed {
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

var notForTalking = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)embed|rerank|whisper|tts|transcribe|dall-e|moderation|image|audio|realtime|search|sora|veo|imagen|codex|guard|ocr|preview|instruct-0914|nano-banana`)
})

// suggest takes the model that most people would take: what is in memory
// already, what the provider is known for, the newest.
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

// newer goes by the date, and where there is none, by the name: versions grow.
func newer(a, b *listed) bool {
	if a.Created != b.Created {
		return a.Created > b.Created
	}
	return a.Created == 0 && a.ID > b.ID
}
