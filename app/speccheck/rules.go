package speccheck

import "github.com/tenon-mcp/tenon/mcp"

// A Rule is one requirement of the specification that is checked.
type Rule struct {
	ID       string
	Text     string // the requirement, in a sentence
	Severity Severity

	in             span
	legacy, modern string
}

// Page returns the page of the specification with the requirement in a revision,
// such as "basic/lifecycle"; empty if that revision does not have it.
func (r Rule) Page(rev mcp.Revision) string {
	switch {
	case !r.in.has(letterOf(rev)):
		return ""
	case eraOf(rev) == EraLegacy:
		return r.legacy
	}
	return r.modern
}

// Revisions returns the revisions that have the requirement, oldest first.
func (r Rule) Revisions() []mcp.Revision { return r.in.revisions() }

// Rules returns all rules.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// RuleFor returns the rule with an ID.
func RuleFor(id string) (Rule, bool) {
	for _, r := range rules {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// problem returns a problem of a rule. It panics for an unknown ID.
func problem(id, pointer, text string) Problem {
	r, ok := RuleFor(id)
	if !ok {
		panic("inspect: no rule " + id)
	}
	return Problem{Rule: id, Text: text, Pointer: pointer, Severity: r.Severity}
}

// Rules that code refers to by name.
const (
	ruleStdout          = "stdio.noise"
	ruleMessage         = "jsonrpc.message"
	ruleReused          = "jsonrpc.id-reused"
	ruleUnknownResponse = "jsonrpc.unknown-answer"
	ruleTwice           = "jsonrpc.answered-twice"
	ruleNoteID          = "jsonrpc.notification-with-id"
	ruleNoID            = "jsonrpc.request-without-id"
	ruleBatch           = "jsonrpc.batch"
	ruleBatchInit       = "jsonrpc.batch-initialize"
	ruleFirst           = "lifecycle.initialize-first"
	ruleInitTwice       = "lifecycle.initialize-once"
	ruleInitialized     = "lifecycle.initialized"
	ruleVersion         = "lifecycle.version"
	ruleCapability      = "lifecycle.capability"
	ruleMethod          = "method.revision"
	ruleDirection       = "method.direction"
	ruleServerAsks      = "modern.server-request"
	ruleClientSays      = "modern.client-response"
	ruleEnvelope        = "modern.envelope"
	ruleResultType      = "modern.result-type"
	ruleCache           = "modern.cache"
	ruleInputWhere      = "input.where"
	ruleInputEmpty      = "input.empty"
	ruleInputKind       = "input.kind"
	ruleInputCap        = "input.capability"
	ruleState           = "input.state"
	ruleToken           = "progress.token"
	ruleTokenReused     = "progress.token-reused"
	ruleProgress        = "progress.increasing"
	ruleCancelWhat      = "cancel.unknown"
	ruleCancelInit      = "cancel.initialize"
	ruleCancelAnswered  = "cancel.silent"
	ruleSubscription    = "subscription.id"
	ruleAck             = "subscription.acknowledge"
	ruleNotAsked        = "subscription.not-asked"
	ruleLog             = "logging.not-asked"
	ruleCode            = "error.code"
	ruleCodeTool        = "error.unknown-tool"
	ruleCodeArgs        = "error.tool-arguments"
	ruleRequired        = "shape.required"
	ruleType            = "shape.type"
	ruleMember          = "shape.revision"
	ruleMetaKey         = "shape.meta-key"
	ruleToolName        = "tools.name"
	ruleToolTwice       = "tools.unique"
	ruleToolSchema      = "tools.input-schema"
	ruleOutput          = "tools.structured"
	ruleBase64          = "content.base64"
	ruleCompletion      = "completion.limit"
	ruleForm            = "elicitation.form"
	ruleIcon            = "icons.source"
	ruleRoot            = "roots.uri"
	ruleSampling        = "sampling.messages"
	ruleHTTPVersion     = "http.protocol-version"
	ruleHTTPMirror      = "http.mirrored-headers"
	ruleHTTPSession     = "http.session"
	ruleHTTPNoSess      = "http.no-session"
	ruleHTTPAccept      = "http.accept"
	ruleHTTPStatus      = "http.status"
	ruleHTTPType        = "http.content-type"
)

// InvalidLine returns the problem of a line on standard output that is not a
// JSON-RPC message.
func InvalidLine() Problem {
	return problem(ruleStdout, "", "the line is no message; a server logs to standard error")
}
