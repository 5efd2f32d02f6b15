package speccheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// report adds a problem to a message, if the rule applies in its revision.
// Without a revision only rules of all revisions apply.
func (t *Conversation) report(m *Message, rule, pointer, format string, args ...any) {
	if !t.judging {
		return
	}
	r, _ := RuleFor(rule)
	if m.Revision == "" && r.in != always || m.Revision != "" && !r.in.has(letterOf(m.Revision)) {
		return
	}
	m.Problems = append(m.Problems, problem(rule, pointer, fmt.Sprintf(format, args...)))
}

// inside moves problems of a message to its position in a batch.
func inside(ps []Problem, i int) []Problem {
	for k := range ps {
		ps[k].Pointer = "/" + strconv.Itoa(i) + ps[k].Pointer
	}
	return ps
}

func (t *Conversation) checkInvalid(m *Message, err *jsonrpc.DecodeError) {
	if rawjson.IsObject(m.Frame) || rawjson.IsArray(m.Frame) || m.Dir == ToServer {
		t.report(m, ruleMessage, "", "this is no message: %s", err.Reason)
		return
	}
	t.report(m, ruleStdout, "", "the line is no message; a server logs to standard error")
}

func (t *Conversation) checkBatch(m *Message, batch []jsonrpc.BatchItem) {
	if m.Revision != "" && !onlyB.has(letterOf(m.Revision)) {
		t.report(m, ruleBatch, "", "revision %s has no batches", m.Revision)
	}
	for i := range batch {
		at := "/" + strconv.Itoa(i)
		if batch[i].Err != nil {
			t.report(m, ruleMessage, at, "this is no message: %v", batch[i].Err)
		} else if batch[i].Method == mcp.MethodInitialize {
			m.Problems = append(m.Problems, problem(ruleBatchInit, at, "initialize stands in a batch"))
		}
	}
}

func (t *Conversation) checkRequest(m *Message, j *jsonrpc.Message, o *Request) {
	if strings.HasPrefix(j.Method, "notifications/") {
		t.report(m, ruleNoteID, "/id", "%s is a notification and has an id", quote(j.Method))
	}
	t.checkID(m, o)
	t.checkMethod(m)
	switch {
	case m.Era == EraModern && m.Dir == FromServer, t.rev == "" && t.sawModern && m.Dir == FromServer:
		m.Revision, m.Era = newestRevision(), EraModern
		t.report(m, ruleServerAsks, "/method", "the server asks for %s; in this revision it would end a call with input_required", quote(j.Method))
	case m.Era == EraModern:
		t.checkState(m)
	default:
		t.checkHandshake(m)
		t.checkCapability(m)
	}
}

func newestRevision() mcp.Revision { return mcp.Revisions()[0] }

func (t *Conversation) checkID(m *Message, o *Request) {
	if old := t.open[side(m.Dir)][o.key]; old != nil {
		t.report(m, ruleReused, "/id", "the id %s belongs to a request that is still open", m.ID)
	} else if old := t.history[side(m.Dir)].find(o.key); old != nil && m.Era != EraModern && old.era != EraModern {
		t.report(m, ruleReused, "/id", "the id %s was used before", m.ID)
	}
}

// checkMethod checks the methods of the protocol; other methods are extensions.
func (t *Conversation) checkMethod(m *Message) {
	w, known := table().methods[m.Method]
	if !known {
		return
	}
	if m.Revision != "" && !w.in(letterOf(m.Revision)) {
		t.report(m, ruleMethod, "/method", "revision %s has no %s", m.Revision, m.Method)
	} else if !w.from(m.Dir) {
		t.report(m, ruleDirection, "/method", "%s is not sent %s", m.Method, m.Dir)
	}
	if m.Kind == KindNotification && w.request {
		t.report(m, ruleNoID, "", "%s is a request and has no id", m.Method)
	}
}

// checkHandshake checks the order of the messages that begin a session.
func (t *Conversation) checkHandshake(m *Message) {
	switch {
	case m.Method == mcp.MethodInitialize:
		if t.stage != unknownMembers {
			t.report(m, ruleInitTwice, "/method", "this session was initialized before")
		}
	case m.Method == mcp.MethodPing:
	case t.stage == unknownMembers || t.stage == asking:
		if m.Revision == "" && m.Method != mcp.MethodDiscover {
			m.Problems = t.appendIf(m.Problems, problem(ruleFirst, "/method", m.Method+" comes before the answer to initialize, and names no revision in _meta"))
		}
	case t.stage == agreed:
		t.report(m, ruleInitialized, "/method", "%s comes before notifications/initialized", m.Method)
	}
}

func (t *Conversation) appendIf(ps []Problem, p Problem) []Problem {
	if t.judging {
		ps = append(ps, p)
	}
	return ps
}

// needs has the capability of the other side that a method requires, as a path.
var needs = map[string]string{
	mcp.MethodToolsList: "tools", mcp.MethodToolsCall: "tools",
	mcp.MethodResourcesList: "resources", mcp.MethodResourcesRead: "resources", mcp.MethodResourceTemplatesList: "resources",
	mcp.MethodResourcesSubscribe: "resources/subscribe", mcp.MethodResourcesUnsubscribe: "resources/subscribe",
	mcp.MethodPromptsList: "prompts", mcp.MethodPromptsGet: "prompts",
	mcp.MethodLoggingSetLevel: "logging",
	mcp.MethodElicit:          "elicitation",
	mcp.MethodCreateMessage:   "sampling", mcp.MethodRootsList: "roots",
}

func (t *Conversation) checkCapability(m *Message) {
	need := needs[m.Method]
	have, who := t.known.server, "server"
	if m.Dir == FromServer {
		have, who = t.known.client, "client"
	}
	if need == "" || have == nil || declares(have, need) {
		return
	}
	t.report(m, ruleCapability, "/method", "the %s has not declared the capability %s", who, need)
}

// declares reports whether a capability is present and not false.
func declares(caps []byte, path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if caps = rawjson.Lookup(caps, name); caps == nil {
			return false
		}
	}
	return caps[0] != 'f' && caps[0] != 'n'
}

func (t *Conversation) checkState(m *Message) {
	state, ok := rawjson.String(t.got.requestState)
	if ok && !t.known.gave(state) {
		t.report(m, ruleState, "/params/requestState", "the server has not given this requestState on this connection")
	}
}

func (t *Conversation) checkToken(m *Message, o *Request) {
	if t.tokens[o.token] != nil {
		t.report(m, ruleTokenReused, "/params/_meta/progressToken", "another request in flight has the same progress token")
	}
}

// checkUnknown checks a response to no open request.
func (t *Conversation) checkUnknown(m *Message, j *jsonrpc.Message, other int) {
	if j.ID == nil {
		return // an error about an invalid message
	}
	old := t.history[other].find(j.ID.Key())
	switch {
	case old == nil:
		t.report(m, ruleUnknownResponse, "/id", "no request with the id %s is open", m.ID)
	default:
		m.Joins, m.Method, m.Tool, m.Revision, m.Era = old.Seq, old.method, old.tool, old.rev, old.era
		t.report(m, ruleTwice, "/id", "the request with the id %s was answered before", m.ID)
	}
}

func (t *Conversation) checkResponse(m *Message, j *jsonrpc.Message, o *Request) {
	if m.Dir == ToServer && (m.Era == EraModern || t.rev == "" && t.sawModern) {
		m.Revision, m.Era = newestRevision(), EraModern
		t.report(m, ruleClientSays, "", "a client of this revision answers by making the call again")
	}
	if o.cancelled {
		t.report(m, ruleCancelAnswered, "", "the request was cancelled before")
	}
	if j.Error != nil {
		t.checkError(m, j.Error)
		return
	}
	switch m.Method {
	case mcp.MethodInitialize:
		if eraOf(m.Revision) != EraLegacy {
			m.Problems = t.appendIf(m.Problems, problem(ruleVersion, "/result/protocolVersion", "the server offers "+quote(string(m.Revision))+", which is no revision that begins with initialize"))
		}
	case mcp.MethodToolsCall:
		t.checkOutput(m)
	}
	if m.Era == EraModern {
		t.checkInput(m, o)
	}
}

func (t *Conversation) checkOutput(m *Message) {
	got := &t.got
	if got.resultType != nil && !rawjson.EqualString(got.resultType, "complete") || len(got.isError) > 0 && got.isError[0] == 't' || got.task != nil {
		return
	}
	if t.known.tools[m.Tool] && got.structuredContent == nil {
		t.report(m, ruleOutput, "/result", "%s has an output schema, and this result has no structuredContent", quote(m.Tool))
	}
}

// inputMethods are the requests that a server may send.
var inputMethods = []string{mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList}

func (t *Conversation) checkInput(m *Message, o *Request) {
	if !rawjson.EqualString(t.got.resultType, "input_required") {
		return
	}
	if !protocol.MayRequireInput(m.Method) {
		t.report(m, ruleInputWhere, "/result/resultType", "%s may not be answered with input_required", m.Method)
	}
	asks := t.got.inputRequests
	if asks == nil && t.got.requestState == nil {
		t.report(m, ruleInputEmpty, "/result", "neither inputRequests nor requestState is there")
	}
	for q := rawjson.Object(asks); q.Next(); {
		at := "/result/inputRequests/" + rawjson.EscapePointer(string(q.Name)) + "/method"
		method, _ := rawjson.String(rawjson.Lookup(q.Value, "method"))
		if !slices.Contains(inputMethods, method) {
			t.report(m, ruleInputKind, at, "a server may not ask for %s", quote(method))
			continue
		}
		need := needs[method]
		if mode, _ := rawjson.String(rawjson.Lookup(rawjson.Lookup(q.Value, "params"), "mode")); mode == mcp.ModeURL {
			need = "elicitation/url"
		}
		if o.caps != nil && !declares(o.caps, need) {
			t.report(m, ruleInputCap, at, "the client has not declared the capability %s on this request", need)
		}
	}
}

func quote(s string) string { return strconv.Quote(visible.Shorten(s, 80)) }
