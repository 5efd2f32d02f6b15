package openai

import (
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

// A Dialect names a server that speaks these wires in its own way.
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
	Plain      Dialect = "plain" // anyone else
)

// quirks are what differs between servers. They are chosen once, by quirksOf.
type quirks struct {
	rules        toolschema.Rules
	ids          wire.IDs
	accepts      llm.Accepts
	maxTokens    string // the name of the member
	context      int    // tokens; 0 means unknown
	descriptions int    // how long the description of a tool may be in Chat; 0 means any
	thinkTags    bool   // thinking may come inside the text, between tags
	reasons      bool   // Responses: the model takes and gives encrypted reasoning
	usageCost    bool   // the cost is named if asked for
}

var (
	anyID = sync.OnceValue(func() wire.IDs {
		return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`), Length: 29}
	})
	mistralID = sync.OnceValue(func() wire.IDs {
		return wire.IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), Length: 9, Bare: true}
	})
)

// notReasoning are models that know no reasoning and refuse to be asked for it.
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

// Gemini's endpoint reads parameters as its own Schema type and refuses members
// that it does not know.
var geminiRules = toolschema.Rules{
	PlainRoot: true, Inline: true, AnyOfOnly: true, OneType: true, Enums: true, NoEmpty: true,
	Formats: []string{"date-time", "enum", "float", "double", "int32", "int64"},
	Keywords: []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
		"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf",
		"minimum", "maximum", "default"},
}

// Ollama forgets, without a word, whatever its own type for tools has no field
// for.
var ollamaRules = toolschema.Rules{
	PlainRoot: true, Inline: true, AnyOfOnly: true,
	Formats:  []string{},
	Keywords: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"},
}

// contextOf is what OpenAI's models take in; its list does not say.
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
