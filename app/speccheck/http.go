package speccheck

import (
	"mime"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// The HTTP headers of the protocol.
const (
	HeaderSession = "Mcp-Session-Id"
	HeaderVersion = "Mcp-Protocol-Version"
	HeaderMethod  = "Mcp-Method"
	HeaderName    = "Mcp-Name"
)

// CheckHTTP returns the rules that a POST and its response break. m is the
// message that the POST carries, session the session id that the server has
// assigned, if any. Response may be nil. The headers must not be redacted.
func CheckHTTP(m *Message, session string, req *http.Request, resp *http.Response) (found []Problem) {
	letter := letterOf(m.Revision)
	note := func(rule, text string) {
		if r, _ := RuleFor(rule); m.Revision != "" && r.in.has(letter) {
			found = append(found, problem(rule, "", text))
		}
	}
	if accept := strings.Join(req.Header.Values("Accept"), ","); !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") {
		note(ruleHTTPAccept, "the header Accept is "+quote(accept))
	}
	if m.Method != mcp.MethodInitialize {
		checkVersion(m, req.Header, note)
		if session != "" && req.Header.Get(HeaderSession) != session {
			note(ruleHTTPSession, "the header Mcp-Session-Id is missing or another one than the server gave")
		}
	}
	if m.Kind == KindRequest && newest.has(letter) {
		checkMirror(m, req.Header, note)
	}
	if resp == nil {
		return found
	}
	if resp.Header.Get(HeaderSession) != "" {
		note(ruleHTTPNoSess, "the answer has the header Mcp-Session-Id")
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); m.Kind == KindRequest && resp.StatusCode == http.StatusOK && kind != "application/json" && kind != "text/event-stream" {
		note(ruleHTTPType, "the answer's Content-Type is "+quote(resp.Header.Get("Content-Type")))
	}
	return found
}

func checkVersion(m *Message, h http.Header, note func(rule, text string)) {
	if got := h.Get(HeaderVersion); got == "" {
		note(ruleHTTPVersion, "the header MCP-Protocol-Version is missing")
	} else if m.Era == EraModern && got != string(m.Revision) {
		note(ruleHTTPVersion, "the header MCP-Protocol-Version says "+quote(got)+" and the body "+quote(string(m.Revision)))
	}
}

// checkMirror compares the headers that repeat the body.
func checkMirror(m *Message, h http.Header, note func(rule, text string)) {
	if got := h.Get(HeaderMethod); got != m.Method {
		note(ruleHTTPMirror, "the header Mcp-Method is "+quote(got)+" and the method "+quote(m.Method))
	}
	r := ParseFrame(m.Frame)
	member := ""
	switch m.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		member = "name"
	case mcp.MethodResourcesRead:
		member = "uri"
	}
	want, ok := rawjson.String(rawjson.Lookup(r.Message.Params, member))
	if member == "" || !ok {
		return
	}
	if got, fine := protocol.DecodeHeader(h.Get(HeaderName)); !fine || got != want {
		note(ruleHTTPMirror, "the header Mcp-Name is "+quote(h.Get(HeaderName))+" and the "+member+" "+quote(want))
	}
}

// statuses are the HTTP statuses that errors of the newest revision have.
var statuses = map[int]int{
	mcp.CodeMethodNotFound:     http.StatusNotFound,
	mcp.CodeHeaderMismatch:     http.StatusBadRequest,
	mcp.CodeMissingCapability:  http.StatusBadRequest,
	mcp.CodeUnsupportedVersion: http.StatusBadRequest,
}

// CheckStatus compares an error response with the HTTP status of its exchange. An
// error in an event stream is not checked: the status was sent before it.
func (t *Conversation) CheckStatus(m *Message, e *jsonrpc.Error) {
	if e == nil || m.HTTP == nil || m.HTTP.Status == 0 || strings.HasPrefix(m.HTTP.Header("Content-Type"), "text/event-stream") {
		return
	}
	if want := statuses[e.Code]; want != 0 && want != m.HTTP.Status {
		t.report(m, ruleHTTPStatus, "/error/code", "the status is %d; with the code %d it is %d", m.HTTP.Status, e.Code, want)
	}
}
