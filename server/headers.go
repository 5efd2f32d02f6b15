package server

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// headersOf lists the arguments of a tool that HTTP clients repeat in headers,
// by the lower-case names that [mcp.Call].Headers has. Most schemas have none,
// which is seen without reading them.
func headersOf(inputSchema json.RawMessage) ([]schema.Header, error) {
	if !bytes.Contains(inputSchema, []byte("x-mcp-header")) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil
	}
	headers, err := schema.Headers(inputSchema)
	for i := range headers {
		headers[i].Name = strings.ToLower(headers[i].Name)
	}
	return headers, err
}

// checkHeaders compares what came in headers with the arguments: whoever stood
// in between has routed or judged the call by the headers, so they must say the
// same. A transport without headers has given none, which is nil.
func (t *tool) checkHeaders(given map[string]string, args json.RawMessage) error {
	if given == nil {
		return nil
	}
	for i := range t.headers {
		h := &t.headers[i]
		value := argument(args, h.Path)
		text, present := given[h.Name]
		switch {
		case value == nil && present:
			return mismatch("the header Mcp-Param-%s is there, and the argument %q is left out or null", h)
		case value != nil && !present:
			return mismatch("the header Mcp-Param-%s is missing: it has to repeat the argument %q", h)
		case value != nil && !sameValue(text, value):
			return mismatch("the header Mcp-Param-%s does not say what the argument %q says", h)
		}
	}
	return nil
}

func mismatch(format string, h *schema.Header) error {
	return mcp.Errorf(mcp.CodeHeaderMismatch, format, h.Name, strings.Join(h.Path, "."))
}

// argument returns the argument at a path; nil if it is not there or null.
func argument(args json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		args = rawjson.Lookup(args, name)
	}
	if args == nil || rawjson.IsNull(args) {
		return nil
	}
	return args
}

// sameValue reports whether a header says what a JSON value is. What no header
// can say passes: no argument of that type fits the schema.
func sameValue(text string, value json.RawMessage) bool {
	switch value[0] {
	case '"':
		return rawjson.EqualString(value, text)
	case 't', 'f':
		return text == string(value)
	case '{', '[':
		return true
	}
	return sameNumber(text, string(value))
}

// maxInteger is the largest integer that a header may carry, 2^53-1: up to
// there every JSON implementation knows one from the next.
const maxInteger = 1<<53 - 1

// sameNumber compares numbers by what they are, not by how they are written:
// 42 is 42.0. A header has no leading zeros, no plus and no exponent.
func sameNumber(text, value string) bool {
	if !isInteger(text) {
		return false
	}
	a, errA := strconv.ParseFloat(text, 64)
	b, errB := strconv.ParseFloat(value, 64)
	if errA != nil || errB != nil || a > maxInteger || a < -maxInteger {
		return text == value
	}
	return a == b
}

// isInteger reports whether a text is an integer in decimal, maybe with zeros
// after a point.
func isInteger(text string) bool {
	digits, zeros, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if point && (zeros == "" || strings.Trim(zeros, "0") != "") {
		return false
	}
	return digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0')
}
