package anthropic_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

// A conversation ends right with every product that has the Messages API, whatever
// its quirks are, and its errors are errors.
func TestProductsAndTheirQuirks(t *testing.T) {
	for name, p := range llmtest.Profiles {
		if p.Wire != llmtest.WireMessages {
			continue // package openai
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := func(attempts int) func(s *llmtest.Server) llm.Model {
				return func(s *llmtest.Server) llm.Model {
					return anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: llmtest.Key, KeyHeader: p.KeyHeader, BaseURL: p.Base(s), Client: s.Client(), Attempts: attempts})
				}
			}
			llmtest.Converse(t, p, model(2))
			llmtest.CheckErrors(t, p, model(1))
		})
	}
}
