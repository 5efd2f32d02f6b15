package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/keyword"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A Header is a property of a tool's input that HTTP clients repeat in a
// header, because its schema has "x-mcp-header".
type Header struct {
	Name string   // the value of x-mcp-header; the header is Mcp-Param-Name
	Path []string // the names of the properties from the root of the arguments
	Type string   // "string", "integer" or "boolean"
}

// maxHeaderInteger is the largest integer allowed in a header, 2^53-1, up to
// which all JSON implementations are exact.
const maxHeaderInteger = 1<<53 - 1

// Value returns the argument that the header repeats, as text before it is
// encoded for HTTP: a string unchanged, an integer in decimal, true or false.
// present is false if the argument is absent or null; then there is no header.
//
// An integer beyond ±(2^53-1) is an error, because the specification does not
// allow it in a header.
func (h *Header) Value(args json.RawMessage) (text string, present bool, err error) {
	value := args
	for _, name := range h.Path {
		value = rawjson.Lookup(value, name)
	}
	if value == nil || rawjson.IsNull(value) {
		return "", false, nil
	}
	if s, ok := rawjson.String(value); ok {
		return s, true, nil
	}
	if !isNumber(value) {
		return string(value), true, nil
	}
	negative, size, f := parseInt(value)
	switch {
	case f == fraction: // it does not fit its schema
		return string(value), true, nil
	case f == tooLarge || size > maxHeaderInteger:
		return "", true, fmt.Errorf("argument %s is an integer beyond ±%d, which the header Mcp-Param-%s cannot carry",
			words.Quote(strings.Join(h.Path, ".")), maxHeaderInteger, h.Name)
	case negative && size > 0:
		return "-" + utoa(size), true, nil
	}
	return utoa(size), true, nil
}

// Match returns an error if a request does not repeat the argument in its header
// as it must. value is the header decoded as text; present is false if there is
// none.
func (h *Header) Match(value string, present bool, args json.RawMessage) error {
	text, wanted, err := h.Value(args)
	switch {
	case err != nil:
		return err
	case !wanted && present:
		return h.mismatch("header Mcp-Param-%s is present, but the argument %s is absent or null")
	case wanted && !present:
		return h.mismatch("header Mcp-Param-%s is missing: it must repeat the argument %s")
	case wanted && !sameText(h.Type, value, text):
		return h.mismatch("header Mcp-Param-%s differs from the argument %s")
	}
	return nil
}

func (h *Header) mismatch(format string) error {
	return fmt.Errorf(format, h.Name, words.Quote(strings.Join(h.Path, ".")))
}

// sameText reports whether a header has the value of an argument. Integers are
// compared by value: 42.0 equals 42. A header has no leading zeros, no plus
// sign and no exponent.
func sameText(kind, got, want string) bool {
	if kind != "integer" || got == want {
		return got == want && (kind != "integer" || isDecimalInteger(got))
	}
	if !isDecimalInteger(got) {
		return false
	}
	digits, _, _ := strings.Cut(got, ".")
	if digits == "-0" {
		digits = "0"
	}
	return digits == want
}

// isDecimalInteger reports whether text is a decimal integer, optionally followed by a
// point and zeros.
func isDecimalInteger(text string) bool {
	digits, zeros, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if point && (zeros == "" || strings.Trim(zeros, "0") != "") {
		return false
	}
	return digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0')
}

const headerKey = "x-mcp-header"

// Headers returns the properties with x-mcp-header, in the order of the schema.
// It returns an error, which makes the tool unusable over HTTP, if x-mcp-header
//
//   - is not a header token, or is used twice (ignoring case),
//   - is on a schema whose type is not string, integer or boolean,
//   - is not on a property that is reached from the root through properties
//     only, but in items, allOf, $defs and the like, or on the root.
//
// A header that the schema reaches through $ref is therefore an error. Values
// of default, const, enum and examples are ignored.
func Headers(inputSchema json.RawMessage) ([]Header, error) {
	if err := rawjson.Check(inputSchema); err != nil {
		return nil, fmt.Errorf("the input schema is not valid JSON: %w", err)
	}
	if rawjson.Lookup(inputSchema, headerKey) != nil {
		return nil, errors.New("x-mcp-header is on the root of the input schema; put it on a property")
	}
	var f headerFinder
	if err := f.inside(inputSchema, nil, true); err != nil {
		return nil, err
	}
	return f.found, nil
}

type headerFinder struct{ found []Header }

// inside visits the schemas in a schema. reachable reports whether it was
// reached through properties only.
func (f *headerFinder) inside(schema []byte, path []string, reachable bool) error {
	for m := rawjson.Object(schema); m.Next(); {
		key := string(m.Name)
		var err error
		switch {
		case key == "properties":
			err = f.each(m.Value, path, reachable)
		case slices.Contains(keyword.NamedHere, key), slices.Contains(keyword.NamedInside, key), slices.Contains(keyword.NamedOnly, key):
			err = f.each(m.Value, append(slices.Clip(path), key), false)
		case slices.Contains(keyword.OneHere, key), slices.Contains(keyword.OneInside, key), slices.Contains(keyword.ListHere, key):
			inner := append(slices.Clip(path), key)
			if rawjson.IsArray(m.Value) {
				for e := rawjson.Array(m.Value); err == nil && e.Next(); {
					err = f.schema(e.Value, inner, false)
				}
			} else {
				err = f.schema(m.Value, inner, false)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each visits named schemas.
func (f *headerFinder) each(schemas []byte, path []string, reachable bool) error {
	for m := rawjson.Object(schemas); m.Next(); {
		if err := f.schema(m.Value, append(slices.Clip(path), string(m.Name)), reachable); err != nil {
			return err
		}
	}
	return nil
}

// schema visits one schema and those inside it.
func (f *headerFinder) schema(schema []byte, path []string, reachable bool) error {
	if value := rawjson.Lookup(schema, headerKey); value != nil {
		h := Header{Path: path}
		if err := f.take(&h, schema, value, reachable); err != nil {
			return fmt.Errorf("x-mcp-header of %s: %w", words.Clip(strings.Join(path, ".")), err)
		}
		f.found = append(f.found, h)
	}
	return f.inside(schema, path, reachable)
}

func (f *headerFinder) take(h *Header, schema, value []byte, reachable bool) error {
	var ok bool
	if h.Name, ok = rawjson.String(value); !ok {
		return errors.New("it must be a string")
	}
	if !isToken(h.Name) {
		return fmt.Errorf("%s is not a header name (letters, digits and !#$%%&'*+-.^_`|~ only, and not empty)", words.Quote(h.Name))
	}
	if !reachable {
		return errors.New("it is allowed only on a property that is reached through properties")
	}
	h.Type, _ = rawjson.String(rawjson.Lookup(schema, "type"))
	if h.Type != "string" && h.Type != "integer" && h.Type != "boolean" {
		return errors.New("the type of the property must be string, integer or boolean")
	}
	for _, other := range f.found {
		if strings.EqualFold(other.Name, h.Name) {
			return fmt.Errorf("%s also names the property %s (ignoring case)", h.Name, words.Clip(strings.Join(other.Path, ".")))
		}
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}
