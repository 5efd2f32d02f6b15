package anthropic

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
)

// thinking configures thinking: a token budget for older models, adaptive for
// newer ones, whose effort is in outputConfig.
type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitzero"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 24576, "xhigh": 32768, "max": 32768}

// think configures the thinking for r.Effort. It ignores an effort that the model
// does not support.
func (m *Model) think(r *llm.Request, body *request) {
	if r.Effort == "" || r.ToolChoice != "" && r.ToolChoice != llm.ChoiceAuto && r.ToolChoice != llm.ChoiceNone {
		return // the API does not allow thinking before a forced tool call
	}
	v := versionOf(m.info.Name)
	switch {
	case r.Effort == "none":
		if v >= 307 {
			body.Thinking = &thinking{Type: "disabled"}
		}
	case v >= 406:
		body.Thinking = &thinking{Type: "adaptive"}
		body.Output = &outputConfig{Effort: r.Effort}
		body.Temperature = nil
	case v >= 307:
		n := budgets[r.Effort]
		if n == 0 {
			return
		}
		body.Thinking = &thinking{Type: "enabled", Budget: n}
		body.MaxTokens = max(body.MaxTokens, n+4096)
		body.Temperature = nil
	}
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
