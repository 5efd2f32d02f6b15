package wire

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
)

// Tools are the tools of a request as a provider takes them.
type Tools struct {
	List    []llm.Tool
	adapted map[string]toolschema.Adapted
}

// AdaptTools adapts schemas, and descriptions that are longer than the limit in
// characters (0 means none): what is over goes into the description of the
// arguments, which has no limit.
func AdaptTools(tools []llm.Tool, rules toolschema.Rules, limit int) *Tools {
	t := &Tools{adapted: map[string]toolschema.Adapted{}}
	for _, tool := range tools {
		a := toolschema.Adapt(tool.Schema, rules)
		t.adapted[tool.Name] = a
		text := strings.TrimSpace(tool.Description)
		if a.Note != "" {
			text = strings.TrimSpace(text + "\n" + a.Note)
		}
		schema := a.Schema
		if limit > 0 && utf8.RuneCountInString(text) > limit {
			var rest string
			text, rest = split(text, limit)
			schema = toolschema.Describe(schema, rest)
		}
		t.List = append(t.List, llm.Tool{Name: tool.Name, Description: text, Schema: schema})
	}
	return t
}

const goesOn = " (continued in the description of the parameters)"

// split cuts a text at a space, so that the first part with its pointer to the
// second has at most limit characters.
func split(text string, limit int) (string, string) {
	runes := []rune(text)
	at := limit - utf8.RuneCountInString(goesOn)
	for i := at; i > at-80 && i > 0; i-- {
		if runes[i] == ' ' || runes[i] == '\n' {
			at = i
			break
		}
	}
	return string(runes[:at]) + goesOn, strings.TrimSpace(string(runes[at:]))
}

// Restore gives arguments the names that the tool knows.
func (t *Tools) Restore(tool string, arguments llm.RawMessage) llm.RawMessage {
	return t.adapted[tool].Restore(arguments)
}

// Failed is a stream that fails before anything is sent.
func Failed(err *llm.Error) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, err) }
}

// Truncated is the error of a stream that ended without the event that ends it.
func Truncated(missing string) error {
	return &llm.Error{Kind: llm.ErrNetwork, Message: "the stream ended before the answer was complete (no " + missing + ")"}
}
