package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Complete returns the content of a response with the form's defaults for the
// fields that it lacks. Nil content means an empty object.
func (f *Form) Complete(content json.RawMessage) (json.RawMessage, error) {
	response, err := responseOf(content)
	if err != nil {
		return nil, err
	}
	full := maps.Clone(response)
	for _, field := range f.Fields {
		if _, ok := full[field.Name]; ok || field.Default == nil {
			continue
		}
		if full[field.Name], err = Marshal(field.Default); err != nil {
			return nil, err
		}
	}
	return Marshal(full)
}

// CheckResponse returns an error that lists every way in which the content of a
// response violates the form: missing fields, unknown fields, wrong types,
// values out of bounds.
func (f *Form) CheckResponse(content json.RawMessage) error {
	response, err := responseOf(content)
	if err != nil {
		return err
	}
	var faults []error
	known := make(map[string]bool, len(f.Fields))
	for i := range f.Fields {
		field := &f.Fields[i]
		known[field.Name] = true
		raw, ok := response[field.Name]
		if !ok {
			if field.Required {
				faults = append(faults, fmt.Errorf("%s: missing", field.Name))
			}
			continue
		}
		var v any
		if err := Unmarshal(raw, &v); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field.Name, err))
		} else if err := field.accepts(v, true); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field.Name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(response)) {
		if !known[name] {
			faults = append(faults, fmt.Errorf("%s: the form has no such field", clip(name)))
		}
	}
	return errors.Join(faults...)
}

func responseOf(content json.RawMessage) (map[string]json.RawMessage, error) {
	response := make(map[string]json.RawMessage)
	if content == nil {
		return response, nil
	}
	if err := Unmarshal(content, &response); err != nil {
		return nil, err
	}
	return response, nil
}

// accepts returns an error if the field cannot hold the decoded value v. Bounds
// are checked only if strict is set, because a default may violate them.
func (f *FormField) accepts(v any, strict bool) error {
	switch f.Type {
	case FieldBoolean:
		if _, ok := v.(bool); !ok {
			return errors.New("expected true or false")
		}
	case FieldNumber, FieldInteger:
		n, ok := v.(float64)
		if !ok {
			return errors.New("expected a number")
		}
		if f.Type == FieldInteger && n != math.Trunc(n) {
			return errors.New("expected an integer")
		}
		if strict {
			return f.inBounds(n)
		}
	case FieldString:
		s, ok := v.(string)
		if !ok {
			return errors.New("expected a string")
		}
		if f.Options != nil {
			return f.offered(s)
		}
		if strict {
			return f.isText(s)
		}
	case FieldChoices:
		return f.isChoice(v, strict)
	}
	return nil
}

func (f *FormField) inBounds(n float64) error {
	switch {
	case f.Minimum != nil && n < *f.Minimum:
		return fmt.Errorf("expected at least %v", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return fmt.Errorf("expected at most %v", *f.Maximum)
	}
	return nil
}

func (f *FormField) offered(s string) error {
	if slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == s }) {
		return nil
	}
	return fmt.Errorf("%q is not one of the options", clip(s))
}

func (f *FormField) isText(s string) error {
	n := utf8.RuneCountInString(s)
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return fmt.Errorf("expected at least %d characters", *f.MinLength)
	case f.MaxLength != nil && n > *f.MaxLength:
		return fmt.Errorf("expected at most %d characters", *f.MaxLength)
	}
	ok := true
	switch f.Format {
	case "email":
		ok = looksLikeEmail(s)
	case "uri":
		u, err := url.Parse(s)
		ok = err == nil && u.Scheme != ""
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		ok = err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		ok = err == nil
	}
	if !ok {
		return fmt.Errorf("expected text of the format %q", f.Format)
	}
	return nil
}

// looksLikeEmail checks the form local@domain, nothing more.
func looksLikeEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at == len(s)-1 || len(s) > 320 {
		return false
	}
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("<>,;", r) }
	domain := s[at+1:]
	return !strings.ContainsFunc(s, bad) && !strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") && !strings.Contains(domain, "..")
}

func (f *FormField) isChoice(v any, strict bool) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New("expected an array of options")
	}
	if strict && f.MinItems != nil && len(list) < *f.MinItems {
		return fmt.Errorf("choose at least %d", *f.MinItems)
	}
	if strict && f.MaxItems != nil && len(list) > *f.MaxItems {
		return fmt.Errorf("choose at most %d", *f.MaxItems)
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return errors.New("expected an array of strings")
		}
		if err := f.offered(s); err != nil {
			return err
		}
	}
	return nil
}
