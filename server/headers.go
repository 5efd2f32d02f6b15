package server

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// headersOf returns the arguments of a tool that HTTP clients repeat in
// headers, by the lower-case names of [mcp.Call].Headers. Most schemas have
// none, which a search for the keyword shows without parsing.
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

// checkHeaders compares the Mcp-Param headers of a request with its arguments.
// Intermediaries route calls by the headers, so both must agree. given is nil
// for transports without headers.
func (t *tool) checkHeaders(given map[string]string, args json.RawMessage) error {
	if given == nil {
		return nil
	}
	for i := range t.headers {
		h := &t.headers[i]
		text, wanted, err := h.Value(args)
		got, present := given[h.Name]
		switch {
		case err != nil:
			return mcp.Errorf(mcp.CodeHeaderMismatch, "%v", err)
		case !wanted && present:
			return mismatch("header Mcp-Param-%s is present, but the argument %q is absent or null", h)
		case wanted && !present:
			return mismatch("header Mcp-Param-%s is missing: it must repeat the argument %q", h)
		case wanted && !sameText(h.Type, got, text):
			return mismatch("header Mcp-Param-%s differs from the argument %q", h)
		}
	}
	return nil
}

func mismatch(format string, h *schema.Header) error {
	return mcp.Errorf(mcp.CodeHeaderMismatch, format, h.Name, strings.Join(h.Path, "."))
}

// sameText reports whether a header has the value of an argument. Integers are
// compared by value: 42.0 equals 42. A header has no leading zeros, no plus
// sign and no exponent.
func sameText(kind, got, want string) bool {
	if kind != "integer" || got == want {
		return got == want && (kind != "integer" || isInteger(got))
	}
	if !isInteger(got) {
		return false
	}
	digits, _, _ := strings.Cut(got, ".")
	if digits == "-0" {
		digits = "0"
	}
	return digits == want
}

// isInteger reports whether text is a decimal integer, optionally followed by a
// point and zeros.
func isInteger(text string) bool {
	digits, zeros, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if point && (zeros == "" || strings.Trim(zeros, "0") != "") {
		return false
	}
	return digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0')
}
