package speccheck

import (
	"strconv"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func (t *Conversation) checkNotification(m *Message, o *Request) {
	t.checkMethod(m)
	switch m.Method {
	case mcp.NotificationProgress:
		t.checkProgress(m, o)
	case mcp.NotificationCancelled:
		t.checkCancel(m, o)
	case mcp.NotificationMessage:
		t.checkLog(m)
	default:
		t.checkChange(m, o)
	}
}

func (t *Conversation) checkProgress(m *Message, o *Request) {
	if o == nil {
		t.report(m, ruleToken, "/params/progressToken", "no request in flight has this progress token")
		return
	}
	now, err := strconv.ParseFloat(string(t.got.progress), 64)
	if err != nil {
		return // its type is wrong, which is reported elsewhere
	}
	if o.progressed && now <= o.progress {
		t.report(m, ruleProgress, "/params/progress", "progress went from %g to %g", o.progress, now)
	}
	o.progress, o.progressed = now, true
	if o.cancelled {
		t.report(m, ruleCancelAnswered, "", "the request was cancelled before")
	}
}

func (t *Conversation) checkCancel(m *Message, o *Request) {
	id := t.got.requestID
	switch {
	case o == nil && id != nil:
		t.report(m, ruleCancelWhat, "/params/requestId", "no request with the id %s was sent %s", visible.Shorten(string(id), 80), m.Dir)
	case o != nil && o.method == mcp.MethodInitialize:
		t.report(m, ruleCancelInit, "/params/requestId", "initialize is cancelled")
	}
}

// checkLog checks log messages: modern ones need an open request that enabled
// them.
func (t *Conversation) checkLog(m *Message) {
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

// changeKinds has the notifications of a subscription, with the member of its
// filter that enables them.
var changeKinds = map[string]string{
	mcp.NotificationToolsListChanged:     "toolsListChanged",
	mcp.NotificationPromptsListChanged:   "promptsListChanged",
	mcp.NotificationResourcesListChanged: "resourcesListChanged",
	mcp.NotificationResourceUpdated:      "resourceSubscriptions",
}

func (t *Conversation) checkChange(m *Message, o *Request) {
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

// checkError checks for codes that the newest revision has removed or reserved.
func (t *Conversation) checkError(m *Message, e *jsonrpc.Error) {
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
