package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Form is the schema of an elicitation, a flat list of fields: the
// requestedSchema of [ElicitParams] in a form that programs can build and
// display.
//
//	schema, err := mcp.Marshal(mcp.Form{Fields: []mcp.FormField{
//		{Name: "email", Type: mcp.FieldString, Format: "email", Required: true},
//	}})
type Form struct {
	// Fields are in display order.
	Fields []FormField
}

// A FieldType is the type of a form field.
type FieldType string

// The field types.
const (
	FieldString  FieldType = "string"  // text, or one of the Options
	FieldNumber  FieldType = "number"  // any number
	FieldInteger FieldType = "integer" // an integer
	FieldBoolean FieldType = "boolean" // true or false
	FieldChoices FieldType = "array"   // any number of the Options
)

// A FormField is one field of a form. Leave members unset that do not apply to
// its type.
type FormField struct {
	Name     string
	Required bool

	Type        FieldType
	Title       string // empty means the name
	Description string
	// Default is a string, a number, a bool or a []string, depending on the
	// type; nil means none.
	Default any

	// MinLength, MaxLength (in characters) and Format apply to text. Format is
	// "email", "uri", "date" or "date-time"; empty means any text.
	MinLength, MaxLength *int
	Format               string

	// Minimum and Maximum apply to numbers.
	Minimum, Maximum *float64

	// Options lists the choices. If one of them has a title, all are encoded
	// with titles.
	Options []Option
	// EnumNames encodes the titles of the options as enumNames, for clients of
	// revision 2025-06-18.
	EnumNames bool
	// MinItems and MaxItems limit how many options may be chosen.
	MinItems, MaxItems *int
}

// An Option is one choice of a form field.
type Option struct {
	Value string
	Title string // empty means the value
}

// A wireField is the JSON of a form field, for all types.
type wireField struct {
	Type        FieldType    `json:"type,omitzero"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MinLength   *int         `json:"minLength,omitzero"`
	MaxLength   *int         `json:"maxLength,omitzero"`
	Format      string       `json:"format,omitzero"`
	Minimum     *float64     `json:"minimum,omitzero"`
	Maximum     *float64     `json:"maximum,omitzero"`
	Enum        []string     `json:"enum,omitzero"`
	EnumNames   []string     `json:"enumNames,omitzero"`
	OneOf       []wireOption `json:"oneOf,omitzero"`
	MinItems    *int         `json:"minItems,omitzero"`
	MaxItems    *int         `json:"maxItems,omitzero"`
	Items       *wireItems   `json:"items,omitzero"`
	Default     any          `json:"default,omitzero"`
}

type wireItems struct {
	Type  FieldType    `json:"type,omitzero"`
	Enum  []string     `json:"enum,omitzero"`
	AnyOf []wireOption `json:"anyOf,omitzero"`
}

type wireOption struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// MarshalJSONTo implements the interface of json v2. It fails for a form that
// [ParseForm] would reject.
func (f Form) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := f.check(); err != nil {
		return &expectation{err.Error()}
	}
	tokens := []jsontext.Token{jsontext.BeginObject, jsontext.String("type"), jsontext.String("object"), jsontext.String("properties"), jsontext.BeginObject}
	for _, t := range tokens {
		if err := enc.WriteToken(t); err != nil {
			return err
		}
	}
	var required []string
	for i := range f.Fields {
		field := &f.Fields[i]
		if err := enc.WriteToken(jsontext.String(field.Name)); err != nil {
			return err
		}
		if err := jsonv2.MarshalEncode(enc, field.wire()); err != nil {
			return err
		}
		if field.Required {
			required = append(required, field.Name)
		}
	}
	if err := enc.WriteToken(jsontext.EndObject); err != nil {
		return err
	}
	if required != nil {
		if err := enc.WriteToken(jsontext.String("required")); err != nil {
			return err
		}
		if err := jsonv2.MarshalEncode(enc, required); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// MarshalJSON implements the interface of encoding/json.
func (f Form) MarshalJSON() ([]byte, error) { return Marshal(f) }

// Schema returns the form as the requestedSchema of [ElicitParams].
func (f Form) Schema() (json.RawMessage, error) { return Marshal(f) }

func (f *FormField) wire() *wireField {
	w := &wireField{
		Type: f.Type, Title: f.Title, Description: f.Description, Default: f.Default,
		MinLength: f.MinLength, MaxLength: f.MaxLength, Format: f.Format,
		Minimum: f.Minimum, Maximum: f.Maximum, MinItems: f.MinItems, MaxItems: f.MaxItems,
	}
	if f.Options == nil {
		return w
	}
	var titled bool
	values := make([]string, len(f.Options))
	names := make([]string, len(f.Options))
	options := make([]wireOption, len(f.Options))
	for i, o := range f.Options {
		titled = titled || o.Title != ""
		values[i], names[i] = o.Value, cmp.Or(o.Title, o.Value)
		options[i] = wireOption{o.Value, names[i]}
	}
	switch {
	case f.Type == FieldChoices && titled:
		w.Items = &wireItems{AnyOf: options}
	case f.Type == FieldChoices:
		w.Items = &wireItems{Type: FieldString, Enum: values}
	case f.EnumNames:
		w.Enum, w.EnumNames = values, names
	case titled:
		w.OneOf = options
	default:
		w.Enum = values
	}
	return w
}

// checkPage returns an [*Error] if address is not a web address.
func checkPage(address string) error {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return InvalidParams("url: missing")
	case err != nil:
		return InvalidParams("url: %q is not a URL", clip(address))
	case u.Scheme != "https" && u.Scheme != "http":
		return InvalidParams("url: %q does not begin with http or https", clip(address))
	case u.Host == "":
		return InvalidParams("url: %q has no host", clip(address))
	}
	return nil
}

// check returns an error if the form is invalid.
func (f *Form) check() error {
	if len(f.Fields) > maxFormFields {
		return fmt.Errorf("a form has at most %d fields, not %d", maxFormFields, len(f.Fields))
	}
	names := make(map[string]bool, len(f.Fields))
	for i := range f.Fields {
		field := &f.Fields[i]
		switch {
		case field.Name == "":
			return fmt.Errorf("field %d has no name", i)
		case names[field.Name]:
			return fmt.Errorf("two fields have the name %q", clip(field.Name))
		}
		names[field.Name] = true
		if err := field.check(); err != nil {
			return fmt.Errorf("field %q: %w", clip(field.Name), err)
		}
	}
	return nil
}

func (f *FormField) check() error {
	text := f.Type == FieldString && f.Options == nil
	number := f.Type == FieldNumber || f.Type == FieldInteger
	switch {
	case !f.Type.known():
		return fmt.Errorf("type %q is not allowed: use string, number, integer, boolean or array", clip(string(f.Type)))
	case !text && (f.MinLength != nil || f.MaxLength != nil || f.Format != ""):
		return errors.New("lengths and formats apply to text only")
	case !number && (f.Minimum != nil || f.Maximum != nil):
		return errors.New("minimum and maximum apply to numbers only")
	case f.Type != FieldChoices && (f.MinItems != nil || f.MaxItems != nil):
		return errors.New("minItems and maxItems apply to arrays only")
	case f.Type != FieldChoices && f.Type != FieldString && f.Options != nil:
		return errors.New("options apply to strings and arrays only")
	case f.Type == FieldChoices && len(f.Options) == 0:
		return errors.New("an array needs options to choose from")
	case f.Options != nil && len(f.Options) == 0:
		return errors.New("the list of options is empty")
	case f.EnumNames && (f.Type != FieldString || f.Options == nil):
		return errors.New("enumNames applies to a string with options only")
	case len(f.Options) > maxFormOptions:
		return fmt.Errorf("at most %d options are allowed, not %d", maxFormOptions, len(f.Options))
	case exceeds(f.MinLength, f.MaxLength), exceeds(f.MinItems, f.MaxItems), exceeds(f.Minimum, f.Maximum):
		return errors.New("the minimum is greater than the maximum")
	}
	switch f.Format {
	case "", "email", "uri", "date", "date-time":
	default:
		return fmt.Errorf("format %q is not allowed: use email, uri, date or date-time", clip(f.Format))
	}
	return f.checkDefault()
}

func (f *FormField) checkDefault() error {
	if f.Default == nil {
		return nil
	}
	raw, err := Marshal(f.Default)
	if err != nil {
		return fmt.Errorf("default: %w", err)
	}
	var v any
	if err := Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	if err := f.accepts(v, false); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

func (t FieldType) known() bool {
	switch t {
	case FieldString, FieldNumber, FieldInteger, FieldBoolean, FieldChoices:
		return true
	}
	return false
}

func exceeds[N int | float64](least, most *N) bool {
	return least != nil && most != nil && *least > *most
}
