package openai

import (
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// A Dialect is a server's variant of the APIs.
type Dialect string

const (
	OpenAI     Dialect = "openai"
	OpenRouter Dialect = "openrouter"
	Gemini     Dialect = "gemini"
	Mistral    Dialect = "mistral"
	Ollama     Dialect = "ollama"
	LMStudio   Dialect = "lmstudio"
	LlamaCpp   Dialect = "llamacpp"
	VLLM       Dialect = "vllm"
	Plain      Dialect = "plain" // any other server
)

// quirks are the differences between servers.
type quirks struct {
	rules        toolschema.Rules
	ids          wire.IDs
	accepts      llm.Accepts
	maxTokens    string // JSON member for the token limit
	context      int    // tokens; 0 means unknown
	descriptions int    // longest description of a tool in Chat, in characters; 0 means no limit
	thinkTags    bool   // thinking may be part of the text, between tags
	reasons      bool   // Responses: the model supports encrypted reasoning
	usageCost    bool   // the server reports the cost on request
}

var (
	anyID = sync.OnceValue(func() wire.IDs {
		return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`), Length: 29}
	})
	mistralID = sync.OnceValue(func() wire.IDs {
		return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), Length: 9, Bare: true}
	})
)

// notReasoning matches models that reject requests for reasoning.
var notReasoning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(gpt-3|gpt-4|chatgpt|davinci|babbage)`) })

func quirksOf(d Dialect, model string) quirks {
	q := quirks{rules: toolschema.Rules{PlainRoot: true}, ids: anyID(), maxTokens: "max_tokens", thinkTags: true}
	switch d {
	case OpenAI:
		q.maxTokens = "max_completion_tokens"
		q.descriptions = 1024
		q.thinkTags = false
		q.context = contextOf(model)
		q.reasons = !notReasoning().MatchString(model)
		q.accepts = llm.Accepts{Images: !strings.HasPrefix(model, "gpt-3"), Documents: true, Audio: strings.Contains(model, "audio")}
	case OpenRouter:
		q.usageCost = true
		q.descriptions = 1024
		q.accepts = llm.Accepts{Images: true, Documents: true}
	case Gemini:
		q.rules = geminiRules
		q.context = 1_000_000
		q.accepts = llm.Accepts{Images: true, Audio: true}
	case Mistral:
		q.ids = mistralID()
		q.accepts = llm.Accepts{Images: true}
	case Ollama:
		q.rules = ollamaRules
	case LlamaCpp:
		q.rules.Grammar = true
	}
	return q
}

// Gemini's endpoint decodes parameters to its own Schema type and rejects unknown
// members.
var geminiRules = toolschema.Rules{
	PlainRoot: true, Inline: true, AnyOfOnly: true, OneType: true, Enums: true, NoEmpty: true,
	Formats: []string{"date-time", "enum", "float", "double", "int32", "int64"},
	Keywords: []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
		"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf",
		"minimum", "maximum", "default"},
}

// Ollama silently drops keywords that its own type for tools does not have.
var ollamaRules = toolschema.Rules{
	PlainRoot: true, Inline: true, AnyOfOnly: true,
	Formats:  []string{},
	Keywords: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"},
}

// contextOf returns the context size of OpenAI's models, which its list of models
// does not contain.
func contextOf(model string) int {
	for _, c := range []struct {
		prefix string
		tokens int
	}{
		{"gpt-3.5", 16_000}, {"gpt-4.1", 1_000_000}, {"gpt-4-32k", 32_000}, {"gpt-4-0", 8_000}, {"gpt-4", 128_000},
		{"gpt-", 272_000}, {"o1", 200_000}, {"o3", 200_000}, {"o4", 200_000},
	} {
		if strings.HasPrefix(model, c.prefix) {
			return c.tokens
		}
	}
	return 0
}
