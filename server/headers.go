package server

import (
	"bytes"
	"encoding/json"
	"strings"

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

// checkHeaders compares the Mcp-Param headers of a request with its arguments.
// Intermediaries route and judge the call by the headers, so both must say the
// same. A transport without headers gives none, which is nil.
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
			return mismatch("the header Mcp-Param-%s is there, and the argument %q is left out or null", h)
		case wanted && !present:
			return mismatch("the header Mcp-Param-%s is missing: it has to repeat the argument %q", h)
		case wanted && !sameText(h.Type, got, text):
			return mismatch("the header Mcp-Param-%s does not say what the argument %q says", h)
		}
	}
	return nil
}

func mismatch(format string, h *schema.Header) error {
	return mcp.Errorf(mcp.CodeHeaderMismatch, format, h.Name, strings.Join(h.Path, "."))
}

// sameText reports whether a header says what an argument says. Integers are
// compared by what they are: 42.0 is 42. A header has no leading zeros, no plus
// and no exponent.
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

// isInteger reports whether a text is an integer in decimal, maybe with zeros
// after a point.
func isInteger(text string) bool {
	digits, zeros, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if point && (zeros == "" || strings.Trim(zeros, "0") != "") {
		return false
	}
	return digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0')
}
