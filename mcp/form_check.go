package mcp

import (
	"errors"
	"fmt"
)

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
