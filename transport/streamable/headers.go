package streamable

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// only returns the value of a header that may occur once.
func only(h http.Header, name string) (value string, present bool, err error) {
	values := h[name]
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", true, fmt.Errorf("the header %s occurs %d times", name, len(values))
}

// acceptsEvents reports whether a client accepts an event stream. A request
// without an Accept header does.
func acceptsEvents(h http.Header) bool {
	values := h["Accept"]
	for _, value := range values {
		if strings.Contains(value, "text/event-stream") || strings.Contains(value, "*/*") {
			return true
		}
		value = strings.ToLower(value)
		if strings.Contains(value, "text/event-stream") || strings.Contains(value, "text/*") {
			return true
		}
	}
	return len(values) == 0
}

// checkHeaders compares the version header of a modern request with its body.
// Intermediaries route by the headers, so a request whose headers differ from
// its body is refused first.
func checkHeaders(h http.Header, version mcp.Revision, named bool) error {
	said, present, err := only(h, httpheader.Version)
	switch {
	case err != nil:
		return err
	case !present:
		return fmt.Errorf("the header %s is missing", httpheader.Version)
	case named && said != string(version):
		return fmt.Errorf("the header %s is %q and the body has %q", httpheader.Version, said, version)
	}
	return nil
}

// checkRouting compares Mcp-Method and Mcp-Name with the body.
func checkRouting(h http.Header, m *jsonrpc.Message) error {
	method, present, err := only(h, httpheader.Method)
	switch {
	case err != nil:
		return err
	case !present:
		return fmt.Errorf("the header %s is missing", httpheader.Method)
	case method != m.Method:
		return fmt.Errorf("the header %s is %q and the body has %q", httpheader.Method, method, m.Method)
	}
	member := protocol.HeaderName(m.Method)
	if member == "" {
		return nil
	}
	raw, present, err := only(h, httpheader.Name)
	switch {
	case err != nil:
		return err
	case !present:
		return fmt.Errorf("the header %s is missing", httpheader.Name)
	}
	name, ok := protocol.DecodeHeader(raw)
	if !ok {
		return fmt.Errorf("the header %s has an invalid encoding", httpheader.Name)
	}
	if value := rawjson.Lookup(m.Params, member); value != nil && !rawjson.EqualString(value, name) {
		return fmt.Errorf("the header %s is %q, which differs from %s of the body", httpheader.Name, name, member)
	} else if value == nil && name != "" {
		return fmt.Errorf("the header %s is %q and the body has no %s", httpheader.Name, name, member)
	}
	return nil
}

// noParams is the result for a request without Mcp-Param headers. It is shared
// and never modified.
var noParams = map[string]string{}

// paramHeaders returns the decoded Mcp-Param headers of a tools/call. Package
// server compares them with the arguments, since it knows the tool.
func paramHeaders(h http.Header, method string) (map[string]string, error) {
	if method != mcp.MethodToolsCall {
		return nil, nil
	}
	params := noParams
	for name, values := range h {
		param, ok := strings.CutPrefix(name, httpheader.ParamPrefix)
		if !ok {
			continue
		}
		if len(values) != 1 {
			return nil, fmt.Errorf("the header %s occurs %d times", name, len(values))
		}
		text, ok := protocol.DecodeHeader(values[0])
		if !ok {
			return nil, fmt.Errorf("the header %s has an invalid encoding", name)
		}
		if len(params) == 0 {
			params = map[string]string{}
		}
		params[strings.ToLower(param)] = text
	}
	return params, nil
}
