package mcp

import (
	"encoding/json"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A SubscriptionFilter selects change notifications.
type SubscriptionFilter struct {
	ToolsListChanged     bool `json:"toolsListChanged,omitzero"`
	PromptsListChanged   bool `json:"promptsListChanged,omitzero"`
	ResourcesListChanged bool `json:"resourcesListChanged,omitzero"`
	// ResourceSubscriptions lists the URIs of resources to watch.
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"`
	// Other holds the members that extensions add.
	Other map[string]json.RawMessage `json:",embed"`
}

// ListenParams is the parameters of a [MethodSubscriptionsListen] call.
type ListenParams struct {
	Notifications SubscriptionFilter `json:"notifications"`
}

// SubscriptionsAcknowledgedParams is the parameters of a
// [NotificationSubscriptionsAcknowledged]: the part of the requested filter
// that the server supports.
type SubscriptionsAcknowledgedParams struct {
	Notifications SubscriptionFilter `json:"notifications"`
}

// ResourceUpdatedParams is the parameters of a [NotificationResourceUpdated].
type ResourceUpdatedParams struct {
	URI string `json:"uri"`
}

// Empty reports whether f selects nothing.
func (f *SubscriptionFilter) Empty() bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged &&
		len(f.ResourceSubscriptions) == 0 && len(f.Other) == 0
}

// Covers reports whether f selects everything that g selects.
func (f *SubscriptionFilter) Covers(g *SubscriptionFilter) bool {
	if g.ToolsListChanged && !f.ToolsListChanged ||
		g.PromptsListChanged && !f.PromptsListChanged ||
		g.ResourcesListChanged && !f.ResourcesListChanged ||
		!hasNames(f.Other, g.Other) {
		return false
	}
	if len(g.ResourceSubscriptions) == 0 {
		return true
	}
	have := make(map[string]bool, len(f.ResourceSubscriptions))
	for _, uri := range f.ResourceSubscriptions {
		have[uri] = true
	}
	return !slices.ContainsFunc(g.ResourceSubscriptions, func(uri string) bool { return !have[uri] })
}

// Wants reports whether f selects the notification. An update of a resource is
// selected by its exact URI only.
func (f *SubscriptionFilter) Wants(n Notification) bool {
	switch n.Method {
	case NotificationToolsListChanged:
		return f.ToolsListChanged
	case NotificationPromptsListChanged:
		return f.PromptsListChanged
	case NotificationResourcesListChanged:
		return f.ResourcesListChanged
	case NotificationResourceUpdated:
		var u ResourceUpdatedParams
		return Unmarshal(n.Params, &u) == nil && slices.Contains(f.ResourceSubscriptions, u.URI)
	}
	return false
}

// The methods below make both JSON packages keep the members in Other.

type plainSubscriptionFilter SubscriptionFilter

// MarshalJSONTo implements the interface of json v2.
func (f SubscriptionFilter) MarshalJSONTo(enc *jsontext.Encoder) error {
	return jsonv2.MarshalEncode(enc, plainSubscriptionFilter(f))
}

// MarshalJSON implements the interface of encoding/json.
func (f SubscriptionFilter) MarshalJSON() ([]byte, error) { return Marshal(f) }

// UnmarshalJSONFrom implements the interface of json v2.
func (f *SubscriptionFilter) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return jsonv2.UnmarshalDecode(dec, (*plainSubscriptionFilter)(f))
}

// UnmarshalJSON implements the interface of encoding/json.
func (f *SubscriptionFilter) UnmarshalJSON(data []byte) error { return Unmarshal(data, f) }

// ProgressParams is the parameters of a [NotificationProgress]. The progress
// token is part of the envelope and therefore absent.
type ProgressParams struct {
	// Progress increases with every notification of a call.
	Progress float64 `json:"progress"`
	// Total is the final value of Progress; 0 means unknown.
	Total   float64 `json:"total,omitzero"`
	Message string  `json:"message,omitzero"`
}
