package speccheck

import (
	"strconv"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func (t *Conversation) judgeNotification(m *Message, o *Request) {
	t.judgeMethod(m)
	switch m.Method {
	case mcp.NotificationProgress:
		t.judgeProgress(m, o)
	case notificationCancelled:
		t.judgeCancel(m, o)
	case mcp.NotificationMessage:
		t.judgeLog(m)
	default:
		t.judgeChange(m, o)
	}
}

func (t *Conversation) judgeProgress(m *Message, o *Request) {
	if o == nil {
		t.report(m, ruleToken, "/params/progressToken", "no request in flight has this progress token")
		return
	}
	now, err := strconv.ParseFloat(string(t.got.progress), 64)
	if err != nil {
		return // its type is wrong, which is told elsewhere
	}
	if o.progressed && now <= o.progress {
		t.report(m, ruleProgress, "/params/progress", "progress went from %g to %g", o.progress, now)
	}
	o.progress, o.progressed = now, true
	if o.cancelled {
		t.report(m, ruleCancelAnswered, "", "the request was cancelled before")
	}
}

func (t *Conversation) judgeCancel(m *Message, o *Request) {
	id := t.got.requestID
	switch {
	case o == nil && id != nil:
		t.report(m, ruleCancelWhat, "/params/requestId", "no request with the id %s was sent %s", visible.Shorten(string(id), 80), m.Dir)
	case o != nil && o.method == methodInitialize:
		t.report(m, ruleCancelInit, "/params/requestId", "initialize is cancelled")
	}
}

// judgeLog: log lines of the newest revision belong to a request that wants
// them. Which one they do not say.
func (t *Conversation) judgeLog(m *Message) {
	if m.Era != EraModern {
		return
	}
	for _, o := range t.open[0] {
		if o.logs {
			return
		}
	}
	t.report(m, ruleLog, "/method", "no request in flight has asked for log lines")
}

// changeKinds are the notifications that a subscription brings, with the member of its
// filter that asks for them.
var changeKinds = map[string]string{
	mcp.NotificationToolsListChanged:     "toolsListChanged",
	mcp.NotificationPromptsListChanged:   "promptsListChanged",
	mcp.NotificationResourcesListChanged: "resourcesListChanged",
	mcp.NotificationResourceUpdated:      "resourceSubscriptions",
}

func (t *Conversation) judgeChange(m *Message, o *Request) {
	wish, isNews := changeKinds[m.Method]
	if m.Era != EraModern || m.Dir != FromServer || !isNews && m.Method != mcp.NotificationSubscriptionsAcknowledged {
		return
	}
	if o == nil {
		t.report(m, ruleSubscription, "/params/_meta", "%s belongs to no open subscription", m.Method)
		return
	}
	if m.Method == mcp.NotificationSubscriptionsAcknowledged {
		o.acknowledged = true
		return
	}
	if !o.acknowledged {
		t.report(m, ruleAck, "/method", "news comes before notifications/subscriptions/acknowledged")
	}
	if o.filter != nil && !declares(o.filter, wish) {
		t.report(m, ruleNotAsked, "/method", "the subscription has not asked for %s", wish)
	}
}

// Codes that the newest revision has taken out of use, and those it has given
// out itself.
func (t *Conversation) judgeError(m *Message, e *jsonrpc.Error) {
	switch {
	case e.Code == mcp.CodeLegacyResourceNotFound:
		t.report(m, ruleCode, "/error/code", "-32002 is of older revisions; a resource that is not found is -32602 now")
	case e.Code == mcp.CodeLegacyURLElicitation:
		t.report(m, ruleCode, "/error/code", "-32042 is of an older revision; the call ends with input_required now")
	case e.Code <= -32023 && e.Code >= -32099:
		t.report(m, ruleCode, "/error/code", "%d lies in the range of the protocol, which has not given it a meaning", e.Code)
	}
	if m.Method != mcp.MethodToolsCall {
		return
	}
	_, listed := t.known.tools[m.Tool]
	switch {
	case e.Code == mcp.CodeMethodNotFound && t.known.tools != nil:
		t.report(m, ruleCodeTool, "/error/code", "the method tools/call is known here; for the tool %s say -32602", quote(m.Tool))
	case e.Code == mcp.CodeInvalidParams && listed:
		t.report(m, ruleCodeArgs, "/error/code", "the tool %s exists; say what is wrong with its arguments in a result with isError", quote(m.Tool))
	}
}
