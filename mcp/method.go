package mcp

// The methods of a [Call].
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

	// MethodPing checks that the server responds. Revision 2026-07-28 has no
	// ping; a connection to a server of that revision sends [MethodDiscover]
	// instead.
	MethodPing = "ping"

	// MethodRevision returns the revision that a connection uses, as a
	// [RevisionResult]. The connection itself serves it; it is never sent. A
	// Handler that is not a connection returns [MethodNotFound].
	MethodRevision = "tenon/revision"
)

// The methods of older revisions that package era handles: it never passes them
// to a [Handler].
const (
	MethodInitialize           = "initialize"
	MethodLoggingSetLevel      = "logging/setLevel"
	MethodResourcesSubscribe   = "resources/subscribe"
	MethodResourcesUnsubscribe = "resources/unsubscribe"
	NotificationInitialized    = "notifications/initialized"
)

// The methods of an [InputRequest].
const (
	MethodElicit        = "elicitation/create"
	MethodCreateMessage = "sampling/createMessage"
	MethodRootsList     = "roots/list"
)

// The methods of a [Notification].
const (
	// NotificationCancelled ends a request of its sender. Transports handle it.
	NotificationCancelled                 = "notifications/cancelled"
	NotificationProgress                  = "notifications/progress"
	NotificationMessage                   = "notifications/message"
	NotificationSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged"
	NotificationToolsListChanged          = "notifications/tools/list_changed"
	NotificationPromptsListChanged        = "notifications/prompts/list_changed"
	NotificationResourcesListChanged      = "notifications/resources/list_changed"
	NotificationResourceUpdated           = "notifications/resources/updated"
	// NotificationElicitationComplete says that the user has finished with a
	// page. Only revision 2025-11-25 has it.
	NotificationElicitationComplete = "notifications/elicitation/complete"

	// NotificationRootsListChanged is sent by clients to servers of older
	// revisions. A connection to a newer server drops it, because such a server
	// requests the roots with each call that needs them.
	//
	// Deprecated: by SEP-2577; see [RootsCapability].
	NotificationRootsListChanged = "notifications/roots/list_changed"
)

// NotificationRelease is a notification with which a handler says that its call
// takes long and that the client need not keep its connection open meanwhile. A
// transport whose clients reconnect for the response closes the connection;
// other transports ignore the notification. It is never sent to a client.
const NotificationRelease = "tenon/release"

// MayRequireInput reports whether a call of this method may return an
// [InputRequired] error.
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
