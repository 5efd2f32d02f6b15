package inspect

import (
	"strconv"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func (t *thread) judgeNotification(m *Message, o *asked) {
	t.judgeMethod(m)
	switch m.Method {
	case mcp.NoteProgress:
		t.judgeProgress(m, o)
	case noteCancelled:
		t.judgeCancel(m, o)
	case mcp.NoteMessage:
		t.judgeLog(m)
	default:
		t.judgeNews(m, o)
	}
}

func (t *thread) judgeProgress(m *Message, o *asked) {
	if o == nil {
		t.note(m, ruleToken, "/params/progressToken", "no request in flight has this progress token")
		return
	}
	now, err := strconv.ParseFloat(string(t.got.progress), 64)
	if err != nil {
		return // its type is wrong, which is told elsewhere
	}
	if o.progressed && now <= o.progress {
		t.note(m, ruleProgress, "/params/progress", "progress went from %g to %g", o.progress, now)
	}
	o.progress, o.progressed = now, true
	if o.cancelled {
		t.note(m, ruleCancelSilent, "", "the request was cancelled before")
	}
}

func (t *thread) judgeCancel(m *Message, o *asked) {
	id := t.got.requestID
	switch {
	case o == nil && id != nil:
		t.note(m, ruleCancelWhat, "/params/requestId", "no request with the id %s was sent %s", shorten(string(id), 80), m.Dir)
	case o != nil && o.method == methodInitialize:
		t.note(m, ruleCancelInit, "/params/requestId", "initialize is cancelled")
	}
}

// judgeLog: log lines of the newest revision belong to a request that wants
// them. Which one they do not say.
func (t *thread) judgeLog(m *Message) {
	if m.Era != eraModern {
		return
	}
	for _, o := range t.open[0] {
		if o.logs {
			return
		}
	}
	t.note(m, ruleLog, "/method", "no request in flight has asked for log lines")
}

// news are the notifications that a subscription brings, with the member of its
// filter that asks for them.
var news = map[string]string{
	mcp.NoteToolsListChanged:     "toolsListChanged",
	mcp.NotePromptsListChanged:   "promptsListChanged",
	mcp.NoteResourcesListChanged: "resourcesListChanged",
	mcp.NoteResourceUpdated:      "resourceSubscriptions",
}

func (t *thread) judgeNews(m *Message, o *asked) {
	wish, isNews := news[m.Method]
	if m.Era != eraModern || m.Dir != FromServer || !isNews && m.Method != mcp.NoteAcknowledged {
		return
	}
	if o == nil {
		t.note(m, ruleSubscription, "/params/_meta", "%s belongs to no open subscription", m.Method)
		return
	}
	if m.Method == mcp.NoteAcknowledged {
		o.acknowledged = true
		return
	}
	if !o.acknowledged {
		t.note(m, ruleAck, "/method", "news comes before notifications/subscriptions/acknowledged")
	}
	if o.filter != nil && !declares(o.filter, wish) {
		t.note(m, ruleNotAsked, "/method", "the subscription has not asked for %s", wish)
	}
}

// Codes that the newest revision has taken out of use, and those it has given
// out itself.
func (t *thread) judgeError(m *Message, e *jsonrpc.Error) {
	switch {
	case e.Code == mcp.CodeLegacyResourceNotFound:
		t.note(m, ruleCode, "/error/code", "-32002 is of older revisions; a resource that is not found is -32602 now")
	case e.Code == mcp.CodeLegacyURLElicitation:
		t.note(m, ruleCode, "/error/code", "-32042 is of an older revision; the call ends with input_required now")
	case e.Code <= -32023 && e.Code >= -32099:
		t.note(m, ruleCode, "/error/code", "%d lies in the range of the protocol, which has not given it a meaning", e.Code)
	}
	if m.Method != mcp.MethodToolsCall {
		return
	}
	_, listed := t.known.tools[m.Tool]
	switch {
	case e.Code == mcp.CodeMethodNotFound && t.known.tools != nil:
		t.note(m, ruleCodeTool, "/error/code", "the method tools/call is known here; for the tool %s say -32602", quote(m.Tool))
	case e.Code == mcp.CodeInvalidParams && listed:
		t.note(m, ruleCodeArgs, "/error/code", "the tool %s exists; say what is wrong with its arguments in a result with isError", quote(m.Tool))
	}
}
