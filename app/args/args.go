// Package args parses the arguments of a tool from words that a user types,
// according to the tool's schema:
//
//	a=20                   the type in the schema: here the number 20
//	name=Ada               text, unchanged; quotes stay
//	tags=x tags=y          a list, if the schema has one
//	tags=["x","y"]         the same as JSON
//	point.x=1              a member of an object
//	a:=true                JSON, independent of the schema
//	text=@notes.txt        the content of a file; text=@@x is the text @x
package args

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// Parse returns the object of words of the form name=value. Without a schema,
// values that are JSON are taken as JSON. Parse does not validate the object: the
// server does.
func Parse(schema json.RawMessage, words []string) (json.RawMessage, error) {
	top := object{}
	for _, word := range words {
		name, value, asJSON, err := split(word)
		if err != nil {
			return nil, err
		}
		path := strings.Split(name, ".")
		if known(schema, name) {
			path = []string{name}
		}
		if err := top.set(schema, path, name, value, asJSON); err != nil {
			return nil, err
		}
	}
	return mcp.Marshal(top)
}

// Escape returns the value for a text in a word name=value. Text that begins with
// @ gets another @, so that it does not name a file.
func Escape(text string) string {
	if strings.HasPrefix(text, "@") {
		return "@" + text
	}
	return text
}

// An object is a JSON object under construction.
type object map[string]any

func split(word string) (name, value string, asJSON bool, err error) {
	name, value, ok := strings.Cut(word, "=")
	if name, asJSON = strings.CutSuffix(name, ":"); !ok || name == "" {
		return "", "", false, fmt.Errorf("%q must be name=value, name:=JSON or name=@file", word)
	}
	switch {
	case strings.HasPrefix(value, "@@"):
		value = value[1:]
	case strings.HasPrefix(value, "@") && len(value) > 1:
		data, err := os.ReadFile(value[1:])
		if err != nil {
			return "", "", false, fmt.Errorf("%s: %w (for text that begins with @, write %s=@%s)", name, err, name, value)
		}
		value = string(data)
	}
	return name, value, asJSON, nil
}

// known reports whether the schema has a property with this name, so that a dot
// in it does not begin a member.
func known(schema json.RawMessage, name string) bool {
	_, ok := property(schema, name)
	return ok
}

func property(schema json.RawMessage, name string) (json.RawMessage, bool) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if mcp.Unmarshal(schema, &s) != nil {
		return nil, false
	}
	p, ok := s.Properties[name]
	return p, ok
}

// set sets the value at a path and creates objects on the way.
func (o object) set(schema json.RawMessage, path []string, name, value string, asJSON bool) error {
	inner, _ := property(schema, path[0])
	inner = resolve(schema, inner)
	if len(path) > 1 {
		if types := typesOf(inner); slices.Contains(types, "array") && !slices.Contains(types, "object") {
			return fmt.Errorf("%s is a list: write it as JSON, %s:=[…]", path[0], path[0])
		}
		next, ok := o[path[0]].(object)
		if !ok && o[path[0]] != nil {
			return fmt.Errorf("%s is given as an object and as a value", path[0])
		}
		if !ok {
			next = object{}
			o[path[0]] = next
		}
		return next.set(inner, path[1:], name, value, asJSON)
	}
	types := typesOf(inner)
	before, again := o[path[0]]
	if again || slices.Contains(types, "array") && !asJSON && !looksJSON(value, '[') {
		return o.push(path[0], before, inner, name, value, asJSON)
	}
	v, err := read(types, name, value, asJSON)
	if err != nil {
		return err
	}
	o[path[0]] = v
	return nil
}

// push adds to a list.
func (o object) push(at string, before any, schema json.RawMessage, name, value string, asJSON bool) error {
	var s struct {
		Items json.RawMessage `json:"items"`
	}
	mcp.Unmarshal(schema, &s) // an invalid schema is ignored
	v, err := read(typesOf(resolve(schema, s.Items)), name, value, asJSON)
	if err != nil {
		return err
	}
	switch all := before.(type) {
	case nil:
		o[at] = []any{v}
	case []any:
		o[at] = append(all, v)
	default:
		if types := typesOf(schema); len(types) > 0 && !slices.Contains(types, "array") {
			return fmt.Errorf("%s is given twice but is not a list", name)
		}
		o[at] = []any{before, v}
	}
	return nil
}

// read parses a value. Text that does not match the schema stays text: the server
// reports it better.
func read(types []string, name, value string, asJSON bool) (any, error) {
	if asJSON {
		if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("%s:=%s is not valid JSON (quote text, or write %s=%s)", name, value, name, value)
		}
		return json.RawMessage(value), nil
	}
	wants := func(t string) bool { return slices.Contains(types, t) }
	switch {
	case wants("string") && !(wants("null") && value == "null"):
		return value, nil
	case value == "true" || value == "false":
		if len(types) == 0 || wants("boolean") {
			return value == "true", nil
		}
	case value == "null" && (len(types) == 0 || wants("null")):
		return nil, nil
	case len(types) == 0 || wants("number") || wants("integer"):
		if isNumber(value) {
			return json.RawMessage(value), nil
		}
	}
	if (len(types) == 0 || wants("object") || wants("array")) && (looksJSON(value, '{') || looksJSON(value, '[')) {
		return json.RawMessage(value), nil
	}
	return value, nil
}

func looksJSON(value string, open byte) bool {
	t := strings.TrimSpace(value)
	return t != "" && t[0] == open && json.Valid([]byte(t))
}

func isNumber(s string) bool {
	if _, err := strconv.ParseFloat(s, 64); err != nil && !strings.Contains(err.Error(), "range") {
		return false
	}
	return json.Valid([]byte(s))
}
