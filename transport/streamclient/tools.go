package streamclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// maxTools bounds how many tools with headers are remembered.
const maxTools = 10_000

// toolHeaders remembers, from the latest tools/list results, which arguments of
// which tools are repeated in headers.
type toolHeaders struct {
	mu      sync.Mutex
	headers map[string][]schema.Header // by the name of the tool; only tools with headers
	refused map[string]string          // reasons, by the name of a tool with invalid headers
}

// read remembers the headers of a list of tools and returns the list without the
// tools whose headers are invalid: over HTTP they cannot be called. It calls warn
// once for each of them.
func (b *toolHeaders) read(body json.RawMessage, warn func(string)) json.RawMessage {
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
			if reason != alreadyWarned {
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

// concerned reports whether a list may contain headers. Most do not and need no
// parsing.
func (b *toolHeaders) concerned(tools []byte) bool {
	if bytes.Contains(tools, []byte("x-mcp-header")) || bytes.Contains(tools, []byte(`\u`)) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.headers) > 0 || len(b.refused) > 0
}

// alreadyWarned stands for a reason that was reported before.
const alreadyWarned = "already warned"

// enter remembers the headers of one tool, or returns why they are invalid.
func (b *toolHeaders) enter(name string, inputSchema []byte) (refused string) {
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
		reason := fmt.Sprintf("tool %s is hidden: %v", strconv.Quote(name), err)
		if b.refused[name] == reason {
			return alreadyWarned
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

// repeat adds the headers that the tool declares for arguments of the call. The
// error names an argument that a header cannot carry.
func (b *toolHeaders) repeat(h http.Header, tool string, args []byte) error {
	b.mu.Lock()
	headers := b.headers[tool]
	b.mu.Unlock()
	for _, header := range headers {
		value, present, err := header.Value(args)
		if err != nil {
			return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true, Message: fmt.Sprintf("call tool %s: %v", strconv.Quote(tool), err)}
		}
		if present {
			h[http.CanonicalHeaderKey(httpheader.ParamPrefix+header.Name)] = []string{protocol.EncodeHeader(value)}
		}
	}
	return nil
}

// text returns a string member of an object.
func text(obj []byte, name string) (string, bool) { return rawjson.String(rawjson.Lookup(obj, name)) }

// lists reports whether a list of tools contains the named one.
func lists(body []byte, tool string) bool {
	for e := rawjson.Array(rawjson.Lookup(body, "tools")); e.Next(); {
		if name, ok := text(e.Value, "name"); ok && name == tool {
			return true
		}
	}
	return false
}
