package choose

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
)

// askOllama adds what Ollama's list lacks: what a model accepts, and the context
// size of a loaded model, which may differ from the size in the model file.
func (c *chooser) askOllama(ctx context.Context, p Provider, m listed) listed {
	if p.Dialect != "ollama" {
		return m
	}
	ctx, cancel := context.WithTimeout(ctx, 5*c.probe)
	defer cancel()
	base := strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	var show struct {
		Capabilities []string `json:"capabilities"`
	}
	query, _ := json.Marshal(map[string]string{"model": m.ID})
	if req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/show", bytes.NewReader(query)); err == nil {
		req.Header.Set("Content-Type", "application/json")
		if res, err := c.client.Do(req); err == nil {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 8<<20))
			res.Body.Close()
			_ = json.Unmarshal(body, &show)
		}
	}
	if show.Capabilities != nil {
		m.Accepts = &llm.Accepts{Images: slices.Contains(show.Capabilities, "vision")}
	}
	var running struct {
		Models []entry `json:"models"`
	}
	if body, err := c.get(ctx, p, "", base+"/api/ps"); err == nil {
		_ = json.Unmarshal(body, &running)
	}
	for _, e := range running.Models {
		if id := e.listed().ID; id == m.ID || id == m.ID+":latest" {
			m.Context = e.Length
		}
	}
	return m
}
