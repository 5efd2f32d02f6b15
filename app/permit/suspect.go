package permit

import (
	"github.com/tenon-mcp/tenon/internal/definition"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Suspect returns what is suspicious about a tool's definition: orders to the
// model and hidden characters.
func Suspect(t *mcp.Tool) []string {
	var found []string
	for _, part := range []struct{ where, text string }{
		{"name", t.Name}, {"title", t.DisplayName()}, {"description", t.Description},
		{"input schema", schemaText(t.InputSchema)}, {"output schema", schemaText(t.OutputSchema)},
	} {
		for _, what := range definition.Suspect(part.text) {
			found = append(found, "the "+part.where+": "+what)
		}
	}
	return found
}

// schemaText returns a schema without escapes, which could hide characters.
func schemaText(schema []byte) string {
	if len(schema) == 0 {
		return ""
	}
	return string(rawjson.AppendCanonical(nil, schema))
}

// SuspectText returns what is suspicious about a result for the model.
func SuspectText(s string) []string { return definition.SuspectResult(s) }
