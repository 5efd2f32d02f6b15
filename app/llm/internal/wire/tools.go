package wire

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/toolschema"
)

// Tools are the tools of a request, adapted to a provider.
type Tools struct {
	List    []llm.Tool
	adapted map[string]toolschema.Adapted
}

// AdaptTools adapts schemas to rules. If limit is not 0, text of a description
// beyond limit characters moves to the description of the arguments.
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

const continued = " (continued in the description of the parameters)"

// split cuts a text at a space, so that the first part including the suffix
// continued has at most limit characters.
func split(text string, limit int) (string, string) {
	runes := []rune(text)
	at := limit - utf8.RuneCountInString(continued)
	for i := at; i > at-80 && i > 0; i-- {
		if runes[i] == ' ' || runes[i] == '\n' {
			at = i
			break
		}
	}
	return string(runes[:at]) + continued, strings.TrimSpace(string(runes[at:]))
}

// Restore renames arguments to the names of the tool's own schema.
func (t *Tools) Restore(tool string, arguments llm.RawMessage) llm.RawMessage {
	return t.adapted[tool].Restore(arguments)
}

// Failed returns a stream that only yields err.
func Failed(err *llm.Error) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, err) }
}

// Truncated returns the error of a stream that ended without its last event.
func Truncated(missing string) error {
	return &llm.Error{Kind: llm.ErrNetwork, Message: "the stream ended before the answer was complete (no " + missing + ")"}
}

// ErrEmpty is the error of a request without any content.
var ErrEmpty = errors.New("the request has no message with content")

// ImageType reports whether the providers accept images of this type.
func ImageType(mime string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime)
}
