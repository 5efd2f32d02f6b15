package streamable

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// only returns the value of a header that may stand once.
func only(h http.Header, name string) (value string, present bool, err error) {
	values := h[name]
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", true, fmt.Errorf("the header %s stands %d times", name, len(values))
}

// acceptsEvents reports whether a client accepts a stream of events. One that
// does not say what it accepts does.
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

// checkHeaders compares the headers of a modern request with its body. They
// are there for whoever stands in between and routes by them; a request whose
// headers say something else than its body is refused before anything else.
func checkHeaders(h http.Header, version mcp.Revision, named bool) error {
	said, present, err := only(h, httpheader.Version)
	switch {
	case err != nil:
		return err
	case !present:
		return fmt.Errorf("the header %s is missing", httpheader.Version)
	case named && said != string(version):
		return fmt.Errorf("the header %s says %q and the body %q", httpheader.Version, said, version)
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
		return fmt.Errorf("the header %s says %q and the body %q", httpheader.Method, method, m.Method)
	}
	member := httpheader.NameMember(m.Method)
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
	name, ok := mcp.DecodeHeader(raw)
	if !ok {
		return fmt.Errorf("the header %s has a value that cannot be read", httpheader.Name)
	}
	if value := rawjson.Lookup(m.Params, member); value != nil && !rawjson.EqualString(value, name) {
		return fmt.Errorf("the header %s says %q, which is not %s of the body", httpheader.Name, name, member)
	} else if value == nil && name != "" {
		return fmt.Errorf("the header %s says %q and the body has no %s", httpheader.Name, name, member)
	}
	return nil
}

// noParams stands for a request without any Mcp-Param headers. It is shared
// and never changed.
var noParams = map[string]string{}

// paramHeaders gathers the Mcp-Param headers of a tools/call, decoded. Which of
// them must be there, and what they must say, is for whoever knows the tool.
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
			return nil, fmt.Errorf("the header %s stands %d times", name, len(values))
		}
		text, ok := mcp.DecodeHeader(values[0])
		if !ok {
			return nil, fmt.Errorf("the header %s has a value that cannot be read", name)
		}
		if len(params) == 0 {
			params = map[string]string{}
		}
		params[strings.ToLower(param)] = text
	}
	return params, nil
}
