package wire

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
)

// What a request leaves out because the provider has rejected it.
const (
	WithoutSummary = 1 // the request for a summary of the thinking
	WithoutEffort  = 2 // also the effort, and thinking as a whole
)

var (
	aboutSummary = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)summar|\bdisplay\b|organization must be verified|include_thoughts|thinking_config|extra_body`)
	})
	aboutEffort = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)effort|thinking|reasoning|output_config|budget_tokens`)
	})
)

// A Reducer remembers what a provider has rejected. The zero value is ready to
// use.
type Reducer struct {
	mu      sync.Mutex
	summary bool
	efforts map[string]bool
}

// Level returns what a request with an effort leaves out.
func (r *Reducer) Level(effort string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.efforts[effort]:
		return WithoutEffort
	case r.summary:
		return WithoutSummary
	}
	return 0
}

func (r *Reducer) remember(level int, effort string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if level == WithoutSummary {
		r.summary = true
		return
	}
	if r.efforts == nil {
		r.efforts = map[string]bool{}
	}
	r.efforts[effort] = true
}

// Reduce returns a [Call.Reduce] for a request with an effort: it asks once
// without the summary if that is what the provider rejects, and once without
// thinking. Size is that of the first body; encode returns the body without what a
// level says.
func (r *Reducer) Reduce(model, effort string, size int, encode func(level int) ([]byte, error)) func(*llm.Error) ([]byte, string, bool) {
	level := r.Level(effort)
	return func(e *llm.Error) ([]byte, string, bool) {
		next, note := 0, ""
		switch {
		case effort == "":
		case level < WithoutSummary && aboutSummary().MatchString(e.Message):
			next, note = WithoutSummary, fmt.Sprintf("%s does not return a summary of its thinking; asking without it", model)
		case level < WithoutEffort && (aboutEffort().MatchString(e.Message) || aboutSummary().MatchString(e.Message)):
			next, note = WithoutEffort, fmt.Sprintf("%s does not take effort %s; asking without it", model, effort)
			if effort == llm.EffortAuto {
				note = fmt.Sprintf("%s does not think on request; asking without it", model)
			}
		}
		if next == 0 {
			return nil, "", false
		}
		body, err := encode(next)
		if err != nil || len(body) >= size {
			return nil, "", false // nothing was left out
		}
		level, size = next, len(body)
		if !strings.Contains(e.Message, "block") { // an error about earlier thinking says nothing about later requests
			r.remember(next, effort)
		}
		return body, note, true
	}
}

// SetKey sets the header for a key; Authorization gets it as a bearer token.
func SetKey(h http.Header, header, key string) {
	switch {
	case key == "":
	case strings.EqualFold(header, "Authorization"):
		h.Set("Authorization", "Bearer "+key)
	default:
		h.Set(header, key)
	}
}
