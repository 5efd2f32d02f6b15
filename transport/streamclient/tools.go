package streamclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// maxTools is how many tools with headers of their own are kept in mind.
const maxTools = 10_000

// A toolBook knows which arguments of which tools go into headers, from the
// lists of tools that were seen last.
type toolBook struct {
	mu      sync.Mutex
	headers map[string][]schema.Header // by the name of the tool; none is left out
	refused map[string]string          // tools that cannot be used, and why
}

// read takes in a list of tools and returns it without those whose headers
// break the rules: over HTTP they cannot be called. What hears of each, once.
func (b *toolBook) read(body json.RawMessage, warn func(string)) json.RawMessage {
	tools := rawjson.Lookup(body, "tools")
	if !b.concerned(tools) {
		return body
	}
	var kept [][]byte
	all := true
	for e := rawjson.Array(tools); e.Next(); {
		name, _ := rawjson.String(rawjson.Lookup(e.Value, "name"))
		if reason := b.enter(name, rawjson.Lookup(e.Value, "inputSchema")); reason != "" {
			all = false
			if reason != known {
				warn(reason)
			}
			continue
		}
		kept = append(kept, e.Value)
	}
	if all {
		return body
	}
	rest := rawjson.Cut(body, func(name, _ []byte) bool { return string(name) == "tools" })
	out := append([]byte(`{"tools":[`), bytes.Join(kept, []byte{','})...)
	out = append(out, ']')
	if more := rawjson.Inside(rest); len(more) > 0 {
		out = append(append(out, ','), more...)
	}
	return append(out, '}')
}

// concerned reports whether a list has anything to do with headers: most have
// not, and need not be taken apart.
func (b *toolBook) concerned(tools []byte) bool {
	if bytes.Contains(tools, []byte("x-mcp-header")) || bytes.Contains(tools, []byte(`\u`)) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.headers) > 0 || len(b.refused) > 0
}

// known stands for a reason that was told before.
const known = "known"

// enter takes in one tool, and says why it cannot be used if it cannot.
func (b *toolBook) enter(name string, inputSchema []byte) (refused string) {
	var headers []schema.Header
	var err error
	if rawjson.IsObject(inputSchema) {
		headers, err = schema.Headers(inputSchema)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.headers == nil || len(b.headers)+len(b.refused) > maxTools {
		b.headers, b.refused = map[string][]schema.Header{}, map[string]string{}
	}
	delete(b.headers, name)
	if err != nil {
		reason := fmt.Sprintf("tool %s was left out: %v", strconv.Quote(name), err)
		if b.refused[name] == reason {
			return known
		}
		b.refused[name] = reason
		return reason
	}
	delete(b.refused, name)
	if len(headers) > 0 {
		b.headers[name] = headers
	}
	return ""
}

// repeat puts those arguments of a call into headers that its tool wants there.
// The error names an argument that no header can carry.
func (b *toolBook) repeat(h http.Header, tool string, args []byte) error {
	b.mu.Lock()
	headers := b.headers[tool]
	b.mu.Unlock()
	for _, header := range headers {
		value, present, err := header.Value(args)
		if err != nil {
			return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true, Message: fmt.Sprintf("tool %s was not called: %v", strconv.Quote(tool), err)}
		}
		if present {
			h[http.CanonicalHeaderKey(httpheader.ParamPrefix+header.Name)] = []string{mcp.EncodeHeader(value)}
		}
	}
	return nil
}

// text is a member of an object that is a string.
func text(obj []byte, name string) (string, bool) { return rawjson.String(rawjson.Lookup(obj, name)) }

// lists reports whether a list of tools has one with this name.
func lists(body []byte, tool string) bool {
	for e := rawjson.Array(rawjson.Lookup(body, "tools")); e.Next(); {
		if name, ok := text(e.Value, "name"); ok && name == tool {
			return true
		}
	}
	return false
}
