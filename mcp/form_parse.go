package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Limits of a form. They protect the user and the memory of the client.
const (
	maxFormBytes   = 256 << 10
	maxFormFields  = 100
	maxFormOptions = 1000
)

// Keywords that a flat list of fields cannot have.
var (
	notInForm  = []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas"}
	notInField = []string{"$ref", "$dynamicRef", "allOf", "anyOf", "not", "if", "properties", "patternProperties", "prefixItems", "contains"}
)

// ParseForm decodes the requestedSchema of an elicitation. It fails if the
// schema is not a flat list of fields, uses a type or keyword that is not
// allowed, or exceeds the limits. Keywords that do not affect a form are
// ignored.
func ParseForm(schema json.RawMessage) (*Form, error) {
	switch {
	case len(schema) == 0:
		return nil, errors.New("missing: a form needs a schema")
	case len(schema) > maxFormBytes:
		return nil, fmt.Errorf("the schema of a form has %d bytes; at most %d are allowed", len(schema), maxFormBytes)
	}
	f := new(Form)
	if err := Unmarshal(schema, f); err != nil {
		return nil, err
	}
	return f, nil
}

// UnmarshalJSON implements the interface of encoding/json.
func (f *Form) UnmarshalJSON(data []byte) error { return Unmarshal(data, f) }

// UnmarshalJSONFrom implements the interface of json v2.
func (f *Form) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	val, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var w struct {
		Type       string         `json:"type"`
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := jsonv2.Unmarshal(val, &w, decoding); err != nil {
		return within(dec, err)
	}
	if w.Type != "object" {
		return refuse(dec, "type", `expected "object": a form is an object schema`)
	}
	if !rawjson.IsObject(w.Properties) {
		return refuse(dec, "properties", "expected an object with a member for each field")
	}
	for _, k := range notInForm {
		if rawjson.Lookup(val, k) != nil {
			return refuse(dec, k, "not allowed: a form is a flat list of fields")
		}
	}
	var form Form
	index := make(map[string]int)
	for m := rawjson.Object(w.Properties); m.Next(); {
		if len(form.Fields) == maxFormFields {
			return refuse(dec, "properties", "a form has at most %d fields", maxFormFields)
		}
		field, err := readField(m.Value)
		if err != nil {
			if sem, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
				sem.JSONPointer = jsontext.Pointer("").AppendToken("properties").AppendToken(string(m.Name)) + sem.JSONPointer
				return within(dec, sem)
			}
			return refuse(dec, "properties", "%q: %v", clip(string(m.Name)), err)
		}
		field.Name = string(m.Name)
		index[field.Name] = len(form.Fields)
		form.Fields = append(form.Fields, field)
	}
	for _, name := range w.Required {
		i, ok := index[name]
		if !ok {
			return refuse(dec, "required", "%q is required, but no field has this name", clip(name))
		}
		form.Fields[i].Required = true
	}
	if err := form.check(); err != nil {
		return refuse(dec, "", "%v", err)
	}
	*f = form
	return nil
}

// readField decodes the schema of one field.
func readField(raw json.RawMessage) (FormField, error) {
	var w wireField
	if err := jsonv2.Unmarshal(raw, &w, decoding); err != nil {
		return FormField{}, err
	}
	for _, k := range notInField {
		if rawjson.Lookup(raw, k) != nil {
			return FormField{}, fmt.Errorf("%s is not allowed: a field of a form cannot be nested or combined", k)
		}
	}
	f := FormField{
		Type: w.Type, Title: w.Title, Description: w.Description, Default: w.Default,
		MinLength: w.MinLength, MaxLength: w.MaxLength, Format: w.Format,
		Minimum: w.Minimum, Maximum: w.Maximum, MinItems: w.MinItems, MaxItems: w.MaxItems,
	}
	if err := f.readOptions(&w); err != nil {
		return FormField{}, err
	}
	if list, ok := f.Default.([]any); ok {
		f.Default = stringsOf(list)
	}
	return f, nil
}

func (f *FormField) readOptions(w *wireField) error {
	enum, titled := w.Enum, w.OneOf
	if w.Type == FieldChoices {
		if w.Enum != nil || w.OneOf != nil {
			return errors.New("the options of an array belong in its items")
		}
		if w.Items == nil || w.Items.Type != "" && w.Items.Type != FieldString {
			return errors.New("the items of an array must be a list of options: use enum or anyOf")
		}
		enum, titled = w.Items.Enum, w.Items.AnyOf
	} else if w.Items != nil {
		return errors.New("items applies to arrays only")
	}
	switch {
	case enum != nil && titled != nil:
		return errors.New("the options are given twice: use either enum or oneOf")
	case w.EnumNames != nil && len(w.EnumNames) != len(enum):
		return fmt.Errorf("enumNames has %d names for %d options", len(w.EnumNames), len(enum))
	case enum == nil && titled == nil:
		return nil
	}
	f.EnumNames = w.EnumNames != nil
	f.Options = make([]Option, 0, len(enum)+len(titled))
	for i, v := range enum {
		o := Option{Value: v}
		if f.EnumNames {
			o.Title = w.EnumNames[i]
		}
		f.Options = append(f.Options, o)
	}
	for _, o := range titled {
		f.Options = append(f.Options, Option{Value: o.Const, Title: o.Title})
	}
	return nil
}

// stringsOf returns the list as a []string, or unchanged if it contains
// anything else.
func stringsOf(list []any) any {
	out := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return list
		}
		out[i] = s
	}
	return out
}
