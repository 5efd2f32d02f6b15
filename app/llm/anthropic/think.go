package anthropic

import (
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// thinking configures thinking: a token budget for older models, adaptive for
// newer ones, whose effort is in outputConfig.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitzero"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// Versions of models that differ in how they think.
const (
	firstThinking = 307 // with a token budget
	firstAdaptive = 406
	firstXHigh    = 407
)

var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, llm.EffortAuto: 8192, "high": 24576, "xhigh": 32768, "max": 32768}

// effortsOf returns the efforts that a model takes, or nil.
func effortsOf(name string) []string {
	switch v := versionOf(name); {
	case v >= firstXHigh:
		return []string{"low", "medium", "high", "xhigh", "max"}
	case v >= firstAdaptive:
		return []string{"low", "medium", "high", "max"}
	case v >= firstThinking:
		return []string{"low", "medium", "high"}
	}
	return nil
}

// think configures the thinking for r.Effort; reduced says what to leave out. It
// ignores an effort that the model does not support.
func (m *Model) think(r *llm.Request, body *request, reduced int) {
	if r.Effort == "" || r.ToolChoice != "" && r.ToolChoice != llm.ChoiceAuto && r.ToolChoice != llm.ChoiceNone {
		return // the API does not allow thinking before a forced tool call
	}
	v := versionOf(m.info.Name)
	if v == 0 && len(m.info.Efforts) > 0 {
		v = firstAdaptive // of another vendor, with efforts in the configuration
	}
	switch {
	case len(m.info.Efforts) == 0 || reduced >= wire.WithoutEffort:
	case r.Effort == llm.EffortNone:
		if v >= firstThinking {
			body.Thinking = &thinking{Type: "disabled"}
		}
	case v >= firstAdaptive:
		body.Thinking = &thinking{Type: "adaptive"}
		if reduced < wire.WithoutSummary {
			body.Thinking.Display = "summarized"
		}
		if r.Effort != llm.EffortAuto {
			body.Output = &outputConfig{Effort: r.Effort}
		}
		body.Temperature = nil
	case v >= firstThinking:
		m.thinkWithBudget(r.Effort, body)
	}
}

// thinkWithBudget sets a token budget. It leaves thinking off while the tool calls
// of an answer without thinking are open, which the API would reject.
func (m *Model) thinkWithBudget(effort string, body *request) {
	n := budgets[effort]
	if n == 0 || !body.loopBeginsWithThinking() {
		return
	}
	body.MaxTokens = max(body.MaxTokens, n+4096)
	if most := m.info.MaxOutput; most > 0 {
		body.MaxTokens = min(body.MaxTokens, most)
	}
	if n = min(n, body.MaxTokens-1024); n < 1024 { // the smallest budget of the API
		return
	}
	body.Thinking = &thinking{Type: "enabled", Budget: n}
	body.Temperature = nil
}

// loopBeginsWithThinking reports whether the assistant message of the running tool
// loop begins with thinking, or there is no running loop.
func (b *request) loopBeginsWithThinking() bool {
	n := len(b.Messages)
	if n < 2 || b.Messages[n-1].Role != "user" {
		return true
	}
	for _, c := range b.Messages[n-1].Content {
		if c.Type == "tool_result" {
			first := b.Messages[n-2].Content[0].Type
			return first == "thinking" || first == "redacted_thinking"
		}
	}
	return true
}
