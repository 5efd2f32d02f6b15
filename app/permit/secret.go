package permit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/definition"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// SecretFields returns the fields of a form that ask for a secret, according to
// their names, titles, descriptions and formats. If none does and the message
// asks for one, it returns all free text fields.
func SecretFields(message string, f *mcp.Form) []string {
	var found, free []string
	for i := range f.Fields {
		field := &f.Fields[i]
		text := field.Type == mcp.FieldString && len(field.Options) == 0 && !slices.Contains([]string{"date", "date-time", "email"}, field.Format)
		number := field.Type == mcp.FieldInteger || field.Type == mcp.FieldNumber
		if text {
			free = append(free, field.Name)
		}
		if text && (field.Format == "password" || named(field.Name) || mentions(field.Title) || mentions(field.Description)) || number && (named(field.Name) || mentions(field.Title)) {
			found = append(found, field.Name)
		}
	}
	if found == nil && mentions(message) {
		return free
	}
	return found
}

// SecretWarning is the text to show before such fields are filled in.
func SecretWarning(server string, fields []string) string {
	return fmt.Sprintf("%s asks for what looks like a secret (%s). Servers must not ask for secrets in forms: decline if you are not sure. Your input is hidden here and is sent to %s.", server, strings.Join(fields, ", "), server)
}

func named(field string) bool { return redact.Name(field) || mentions(field) }

// mentions reports whether the beginning of a server's text names a secret.
func mentions(text string) bool { return redact.Mentions(definition.Beginning(text)) }
