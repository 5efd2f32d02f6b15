package mcp

// The methods of the house: those a Call may carry.
const (
	MethodDiscover              = "server/discover"
	MethodToolsList             = "tools/list"
	MethodToolsCall             = "tools/call"
	MethodResourcesList         = "resources/list"
	MethodResourceTemplatesList = "resources/templates/list"
	MethodResourcesRead         = "resources/read"
	MethodPromptsList           = "prompts/list"
	MethodPromptsGet            = "prompts/get"
	MethodComplete              = "completion/complete"
	MethodSubscriptionsListen   = "subscriptions/listen"

	// MethodPing only wants an answer. Revision 2026-07-28 has no ping; a
	// connection to a server of that revision asks [MethodDiscover] for it.
	MethodPing = "ping"

	// MethodRevision is a call that no server ever sees: a connection answers
	// it with the [RevisionResult]. A Handler that is no connection does not
	// know it.
	MethodRevision = "tenon/revision"
)

// The questions a server may ask: the methods an InputRequest may carry.
const (
	MethodElicit        = "elicitation/create"
	MethodCreateMessage = "sampling/createMessage"
	MethodRootsList     = "roots/list"
)

// The notes that ride with a call.
const (
	NotificationProgress                  = "notifications/progress"
	NotificationMessage                   = "notifications/message"
	NotificationSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged"
	NotificationToolsListChanged          = "notifications/tools/list_changed"
	NotificationPromptsListChanged        = "notifications/prompts/list_changed"
	NotificationResourcesListChanged      = "notifications/resources/list_changed"
	NotificationResourceUpdated           = "notifications/resources/updated"
	// NotificationElicitationComplete says that the person is done with a page. It is
	// there for clients of revision 2025-11-25 only.
	NotificationElicitationComplete = "notifications/elicitation/complete"

	// NotificationRootsListChanged goes from the client to a server of an older
	// revision. A connection to a newer server drops it: such a server asks
	// for the roots with each call that needs them.
	//
	// Deprecated: by SEP-2577; see [RootsCapability].
	NotificationRootsListChanged = "notifications/roots/list_changed"
)

// NotificationRelease is a note that no client ever hears: with it a handler says that
// its call will take a while and that the client need not hold its connection
// meanwhile. A transport whose clients come back for the answer lets the client
// go; every other one drops the note.
const NotificationRelease = "tenon/release"

// MayRequireInput reports whether a call of this method may end a round with InputRequired.
func MayRequireInput(method string) bool {
	return method == MethodToolsCall || method == MethodPromptsGet || method == MethodResourcesRead
}

// Cacheable reports whether results of this method carry a cache hint.
func Cacheable(method string) bool {
	switch method {
	case MethodDiscover, MethodToolsList, MethodPromptsList, MethodResourcesList, MethodResourceTemplatesList, MethodResourcesRead:
		return true
	}
	return false
}

// RevisionResult is the result of a [MethodRevision] call.
type RevisionResult struct {
	Revision Revision `json:"revision"`
}
