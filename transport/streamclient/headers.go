package streamclient

import (
	"net/http"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// Values of headers that are the same in every request. They are never changed.
var (
	sendsJSON   = []string{typeJSON}
	takesBoth   = []string{typeJSON + ", " + typeEvents}
	takesEvents = []string{typeEvents}
)

// headers returns the headers of a POST that carries m, and the session id among
// them. The headers of a modern message repeat parts of its body for
// intermediaries; those of a legacy message name its session. The error is for a
// message whose parts cannot be written as headers.
func (l *link) headers(m *jsonrpc.Message, modern bool) (h http.Header, session string, err error) {
	h = http.Header{"Content-Type": sendsJSON, "Accept": takesBoth}
	if modern {
		return h, "", l.repeat(h, m)
	}
	if m.Method == mcp.MethodInitialize {
		return h, "", nil
	}
	return h, l.identify(h), nil
}

// identify adds the session id and the revision to the headers.
func (l *link) identify(h http.Header) (session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != "" {
		h[httpheader.Session] = []string{l.session}
	}
	if l.version != "" {
		h[httpheader.Version] = []string{l.version}
	}
	return l.session
}

// repeat adds the headers that repeat parts of a modern message.
func (l *link) repeat(h http.Header, m *jsonrpc.Message) error {
	if version, ok := eraconn.NamedRevision(m); ok {
		h[httpheader.Version] = []string{string(version)}
	}
	h[httpheader.Method] = []string{protocol.EncodeHeader(m.Method)}
	name, ok := rawjson.String(rawjson.Lookup(m.Params, protocol.HeaderName(m.Method)))
	if !ok || protocol.HeaderName(m.Method) == "" {
		return nil
	}
	h[httpheader.Name] = []string{protocol.EncodeHeader(name)}
	if m.Method == mcp.MethodToolsCall {
		return l.tools.repeat(h, name, rawjson.Lookup(m.Params, "arguments"))
	}
	return nil
}
