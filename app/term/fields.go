package term

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// A sheet is a form to fill in: an input request of a server, or the arguments of
// a tool or a prompt. Values are texts until it is complete.
type sheet struct {
	fields []field
	schema json.RawMessage // nil for a prompt
	form   *mcp.Form       // of an input request; nil for arguments
}

// A field is one value of a sheet.
type field struct {
	mcp.FormField
	json   bool   // beyond the types of forms: typed as JSON, or as package args parses it
	kind   string // the type, for people
	value  string
	given  bool // already given
	secret bool // seems to be a secret: hide what is typed
}

// questionSheet returns the sheet of an input request, some of whose fields are
// secret.
func questionSheet(schema json.RawMessage, secret []string) (*sheet, error) {
	f, err := mcp.ParseForm(schema)
	if err != nil {
		return nil, err
	}
	s := &sheet{schema: schema, form: f}
	for _, one := range f.Fields {
		f := fieldOf(one)
		f.secret = slices.Contains(secret, one.Name)
		s.fields = append(s.fields, f)
	}
	return s, nil
}

func fieldOf(f mcp.FormField) field {
	one := field{FormField: f, kind: string(f.Type)}
	switch {
	case f.Format != "":
		one.kind = f.Format
	case f.Type == mcp.FieldChoices:
		one.kind = "any of these, separated by commas"
	case len(f.Options) > 0:
		one.kind = "one of these"
	case f.Type == mcp.FieldBoolean:
		one.kind = "yes or no"
	case f.Type == mcp.FieldString:
		one.kind = "text"
	}
	switch d := f.Default.(type) {
	case nil:
	case bool:
		one.value = map[bool]string{true: "yes", false: "no"}[d]
	case []string:
		one.value = strings.Join(d, ", ")
	default:
		one.value = fmt.Sprint(d)
	}
	return one
}

// toolSheet returns the sheet of a tool's arguments, with the given ones filled
// in.
func toolSheet(schema, given json.RawMessage) *sheet {
	s := &sheet{schema: schema}
	var top struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if mcp.Unmarshal(schema, &top) != nil {
		return s
	}
	for o := rawjson.Object(top.Properties); o.Next(); {
		name := string(o.Name)
		f := propertyField(name, slices.Clone(o.Value))
		f.Required = slices.Contains(top.Required, name)
		f.secret = f.Type == mcp.FieldString && len(f.Options) == 0 && redact.Name(name)
		if raw := rawjson.Lookup(given, name); raw != nil {
			f.value, f.given = string(raw), true
			if text, ok := rawjson.String(raw); ok && !f.json {
				f.value = text
			}
		}
		s.fields = append(s.fields, f)
	}
	return s
}

// propertyField returns the field of a property: as in a form if possible, else
// as JSON.
func propertyField(name string, schema json.RawMessage) field {
	wrapped, err := mcp.Marshal(map[string]any{"type": "object", "properties": map[string]json.RawMessage{name: schema}})
	if err == nil {
		if f, err := mcp.ParseForm(wrapped); err == nil && len(f.Fields) == 1 {
			return fieldOf(f.Fields[0])
		}
	}
	f := field{json: true, kind: "JSON"}
	f.Name = name
	var s struct {
		Type        json.RawMessage `json:"type"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Default     json.RawMessage `json:"default"`
	}
	if mcp.Unmarshal(schema, &s) != nil {
		return f
	}
	f.Title, f.Description, f.value = s.Title, s.Description, string(s.Default)
	if t, ok := rawjson.String(s.Type); ok {
		f.kind = t + ", as JSON"
	}
	return f
}

// promptSheet returns the sheet of a prompt's arguments, which are texts.
func promptSheet(p *mcp.Prompt, given map[string]string) *sheet {
	s := &sheet{}
	for _, a := range p.Arguments {
		f := fieldOf(mcp.FormField{Name: a.Name, Title: a.Title, Description: a.Description, Type: mcp.FieldString, Required: a.Required})
		f.value, f.given = given[a.Name], given[a.Name] != ""
		s.fields = append(s.fields, f)
	}
	return s
}

// missing returns the required fields that are empty.
func (s *sheet) missing() []string {
	var names []string
	for _, f := range s.fields {
		if f.Required && f.value == "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// shown returns the value for the screen.
func (f *field) shown(value string) string {
	if f.secret {
		return masked(value)
	}
	return value
}

// masked replaces a text that must not be shown.
func masked(s string) string {
	n := 0
	for at := 0; at < len(s); n++ {
		at += len(cluster(s[at:]))
	}
	return strings.Repeat("•", n)
}

// label returns the field's name for people.
func (f *field) label() string {
	if f.Title != "" && f.Title != f.Name {
		return line(f.Title)
	}
	return line(f.Name)
}

// check validates the value of a field.
func (f *field) check() error {
	if f.value == "" {
		if f.Required && (f.json || f.Type != mcp.FieldString || f.MinLength != nil || len(f.Options) > 0) {
			return fmt.Errorf("this field is required")
		}
		return nil
	}
	if f.json {
		return nil // the server validates it
	}
	v, err := form.Read(&f.FormField, f.value)
	if err != nil {
		return err
	}
	raw, err := mcp.Marshal(map[string]any{f.Name: v})
	if err != nil {
		return err
	}
	return (&mcp.Form{Fields: []mcp.FormField{f.FormField}}).CheckResponse(raw)
}

// content returns the filled-in sheet as JSON.
func (s *sheet) content() (json.RawMessage, error) {
	var words []string
	for i := range s.fields {
		f := &s.fields[i]
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.label(), err)
		}
		if f.value == "" && !(f.Required && f.Type == mcp.FieldString) {
			continue
		}
		if f.json {
			words = append(words, f.Name+"="+f.value)
			continue
		}
		v, err := form.Read(&f.FormField, f.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.label(), err)
		}
		raw, err := mcp.Marshal(v)
		if err != nil {
			return nil, err
		}
		words = append(words, f.Name+":="+string(raw))
	}
	content, err := args.Parse(s.schema, words)
	if err == nil && s.form != nil {
		err = s.form.CheckResponse(content)
	}
	return content, err
}

// values returns the filled-in sheet as texts, for prompts.
func (s *sheet) values() map[string]string {
	all := map[string]string{}
	for _, f := range s.fields {
		if f.value != "" {
			all[f.Name] = f.value
		}
	}
	return all
}
