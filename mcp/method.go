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

// A Revision is a dated version of the protocol. It is for display: only
// package era depends on it.
type Revision string

// The supported revisions.
const (
	Rev20241105 Revision = "2024-11-05"
	Rev20250326 Revision = "2025-03-26"
	Rev20250618 Revision = "2025-06-18"
	Rev20251125 Revision = "2025-11-25"
	Rev20260728 Revision = "2026-07-28"
)

// Revisions returns the supported revisions, newest first.
func Revisions() []Revision {
	return []Revision{Rev20260728, Rev20251125, Rev20250618, Rev20250326, Rev20241105}
}
