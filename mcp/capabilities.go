package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Settings is a capability with optional settings. Nil means that the
// capability is absent; Settings{} means that it is present without settings.
type Settings map[string]json.RawMessage

// ClientCapabilities lists what a client supports. Nil fields are not
// supported.
type ClientCapabilities struct {
	// Elicitation is set if the client can ask its user.
	Elicitation *ElicitationCapability `json:"elicitation,omitzero"`
	// Sampling is set if the client gives servers access to a model.
	//
	// Deprecated: by SEP-2577 in the 2026 revision; it may be removed in the
	// first revision on or after 2027-07-28. Call a model directly instead.
	Sampling *SamplingCapability `json:"sampling,omitzero"`
	// Roots is set if the client can list the directories that the server may
	// use.
	//
	// Deprecated: by SEP-2577 in the 2026 revision; it may be removed in the
	// first revision on or after 2027-07-28. Use tool parameters or URIs
	// instead.
	Roots *RootsCapability `json:"roots,omitzero"`
	// Experimental holds capabilities outside the protocol.
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	// Extensions holds the settings of each extension, by its full name.
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	// Other holds all other members, such as the tasks capability of revision
	// 2025-11-25.
	Other map[string]json.RawMessage `json:",embed"`
}

// ElicitationCapability lists the supported elicitation modes. If neither is
// set, only forms are supported.
type ElicitationCapability struct {
	Form Settings `json:"form,omitzero"`
	URL  Settings `json:"url,omitzero"`
}

// ServerCapabilities lists what a server offers. Nil fields are not offered.
type ServerCapabilities struct {
	Tools       *ListCapability      `json:"tools,omitzero"`
	Resources   *ResourcesCapability `json:"resources,omitzero"`
	Prompts     *ListCapability      `json:"prompts,omitzero"`
	Completions Settings             `json:"completions,omitzero"`
	// Logging is set if the server sends log messages to clients that want
	// them.
	//
	// Deprecated: by SEP-2577 in the 2026 revision; it may be removed in the
	// first revision on or after 2027-07-28. Use stderr or OpenTelemetry
	// instead.
	Logging Settings `json:"logging,omitzero"`
	// Experimental holds capabilities outside the protocol.
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	// Extensions holds the settings of each extension, by its full name.
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	// Other holds all other members.
	Other map[string]json.RawMessage `json:",embed"`
}

// ListCapability is the capability to list tools or prompts.
type ListCapability struct {
	// ListChanged is set if the server notifies clients when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
}

// ResourcesCapability is the capability to list and read resources.
type ResourcesCapability struct {
	// Subscribe is set if clients can subscribe to changes of single resources.
	Subscribe bool `json:"subscribe,omitzero"`
	// ListChanged is set if the server notifies clients when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
}

// Covers reports whether c includes every capability in need. A nil c covers
// only a nil or empty need.
func (c *ClientCapabilities) Covers(need *ClientCapabilities) bool {
	if need == nil {
		return true
	}
	if c == nil {
		c = &ClientCapabilities{}
	}
	return c.Elicitation.covers(need.Elicitation) &&
		c.Sampling.covers(need.Sampling) &&
		(need.Roots == nil || c.Roots != nil) &&
		hasNames(c.Experimental, need.Experimental) &&
		hasNames(c.Extensions, need.Extensions) &&
		hasNames(c.Other, need.Other)
}

func (c *ElicitationCapability) covers(need *ElicitationCapability) bool {
	if need == nil {
		return true
	}
	if c == nil {
		return false
	}
	form := c.Form != nil || c.URL == nil
	needForm := need.Form != nil || need.URL == nil
	return (form || !needForm) && (c.URL != nil || need.URL == nil)
}

func hasNames(have, need map[string]json.RawMessage) bool {
	for name := range need {
		if _, ok := have[name]; !ok {
			return false
		}
	}
	return true
}

// The methods below make both JSON packages keep the members in Other.

type plainClientCapabilities ClientCapabilities

// MarshalJSONTo implements the interface of json v2.
func (c ClientCapabilities) MarshalJSONTo(enc *jsontext.Encoder) error {
	return jsonv2.MarshalEncode(enc, plainClientCapabilities(c))
}

// MarshalJSON implements the interface of encoding/json.
func (c ClientCapabilities) MarshalJSON() ([]byte, error) { return Marshal(c) }

// UnmarshalJSONFrom implements the interface of json v2.
func (c *ClientCapabilities) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return jsonv2.UnmarshalDecode(dec, (*plainClientCapabilities)(c))
}

// UnmarshalJSON implements the interface of encoding/json.
func (c *ClientCapabilities) UnmarshalJSON(data []byte) error { return Unmarshal(data, c) }

type plainServerCapabilities ServerCapabilities

// MarshalJSONTo implements the interface of json v2.
func (c ServerCapabilities) MarshalJSONTo(enc *jsontext.Encoder) error {
	return jsonv2.MarshalEncode(enc, plainServerCapabilities(c))
}

// MarshalJSON implements the interface of encoding/json.
func (c ServerCapabilities) MarshalJSON() ([]byte, error) { return Marshal(c) }

// UnmarshalJSONFrom implements the interface of json v2.
func (c *ServerCapabilities) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return jsonv2.UnmarshalDecode(dec, (*plainServerCapabilities)(c))
}

// UnmarshalJSON implements the interface of encoding/json.
func (c *ServerCapabilities) UnmarshalJSON(data []byte) error { return Unmarshal(data, c) }
