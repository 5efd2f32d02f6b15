package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	encoding = jsonv2.JoinOptions(jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true))
	decoding = jsonv2.JoinOptions(jsonv2.MatchCaseInsensitiveNames(false), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
)

// Marshal encodes a value of this package or of a user's type. The output is
// deterministic and has no white space. Unlike encoding/json, it encodes a nil
// slice as [].
func Marshal(v any) (json.RawMessage, error) {
	if raw, ok := appendPlain(v); ok {
		return raw, nil
	}
	raw, err := jsonv2.Marshal(v, encoding)
	if err != nil {
		return nil, explainWrite(err)
	}
	return raw, nil
}

// Unmarshal decodes JSON from a peer. Names are case-sensitive, duplicate names
// and invalid UTF-8 are errors, and unknown members are ignored. The error says
// where the problem is, as in "tools[3].inputSchema: expected an object".
//
// Do not use encoding/json for data from a peer: it matches names without
// regard to case.
func Unmarshal(data []byte, v any) error {
	if decodePlain(data, v) {
		return nil
	}
	if err := jsonv2.Unmarshal(data, v, decoding); err != nil {
		return explain(err)
	}
	return nil
}

// Decode decodes the parameters of the call into v. The error is an [*Error]
// that names the wrong parameter.
func (c *Call) Decode(v any) error {
	params := c.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	if err := Unmarshal(params, v); err != nil {
		return InvalidParams("parameters of %s: %v", c.Method, err)
	}
	return nil
}

// Decode decodes the body of the result into v.
func (r Result) Decode(v any) error {
	body := r.Body
	if body == nil {
		body = json.RawMessage("{}")
	}
	return Unmarshal(body, v)
}

// A jsonError is an error of the JSON library with a readable text.
type jsonError struct {
	text string
	err  error
}

func (e *jsonError) Error() string { return e.text }
func (e *jsonError) Unwrap() error { return e.err }

// explain converts a decoding error.
func explain(err error) error {
	switch e := err.(type) {
	case *jsontext.SyntacticError:
		what := fmt.Sprintf("not valid JSON at byte %d: %v", e.ByteOffset, e.Err)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = "duplicate name in an object"
		}
		return &jsonError{at(e.JSONPointer, what), err}
	case *jsonv2.SemanticError:
		return &jsonError{at(e.JSONPointer, mismatch(e)), err}
	}
	return err
}

// explainWrite converts an encoding error.
func explainWrite(err error) error {
	sem, ok := err.(*jsonv2.SemanticError)
	switch {
	case ok && sem.Err != nil:
		return &jsonError{at(sem.JSONPointer, sem.Err.Error()), err}
	case ok:
		return &jsonError{at(sem.JSONPointer, fmt.Sprintf("Go type %v has no JSON form", sem.GoType)), err}
	}
	return err
}

func at(p jsontext.Pointer, what string) string {
	if path := pathOf(p); path != "" {
		return path + ": " + what
	}
	return what
}

// pathOf formats a JSON pointer as a path such as tools[3].name.
func pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	for tok := range p.Tokens() {
		switch {
		case isIndex(tok):
			b.WriteString("[" + tok + "]")
		case strings.ContainsAny(tok, ".[]/ \""):
			fmt.Fprintf(&b, "[%q]", tok)
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(tok)
		}
	}
	return b.String()
}

func isIndex(tok string) bool {
	return tok != "" && strings.Trim(tok, "0123456789") == ""
}

// mismatch describes the expected and the actual value.
func mismatch(e *jsonv2.SemanticError) string {
	// Errors of this package's types describe it already.
	if own, ok := errors.AsType[*expectation](e.Err); ok {
		return own.text
	}
	want := expected(e.GoType)
	found := kindName(e.JSONKind)
	switch {
	case want != "" && found != "" && want != found:
		return "expected " + want + ", found " + found
	case e.Err != nil && want != "" && want != found: // else the kind is right, and the type says what is not
		return fmt.Sprintf("expected %s: %v", want, e.Err)
	case e.Err != nil:
		return e.Err.Error()
	case want != "":
		return "expected " + want
	}
	return "invalid value"
}

// An expectation is the error of a type of this package that cannot hold a
// value.
type expectation struct{ text string }

func (e *expectation) Error() string { return e.text }

// refuse returns the error of a type that cannot hold the member name of the
// value that dec has just read, or the value itself if name is empty.
func refuse(dec *jsontext.Decoder, name, format string, args ...any) error {
	p := dec.StackPointer()
	if name != "" {
		p = p.AppendToken(name)
	}
	return &jsonv2.SemanticError{JSONPointer: p, Err: &expectation{fmt.Sprintf(format, args...)}}
}

func expected(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	}
	return ""
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return ""
}
