package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Settings is a capability that is an open object: nil means that it is not
// there, Settings{} that it is there and has nothing more to say.
type Settings map[string]json.RawMessage

// ClientCapabilities is what a client can do. A part that is nil is something
// it cannot do.
type ClientCapabilities struct {
	// Elicitation is the ability to ask the person in front of the client.
	Elicitation *ElicitationCapability `json:"elicitation,omitzero"`
	// Sampling is the ability to have a model write something.
	//
	// Deprecated: by SEP-2577 in the 2026 revision; it may go in the first
	// revision on or after 2027-07-28. Call a model directly instead.
	Sampling *SamplingCapability `json:"sampling,omitzero"`
	// Roots is the ability to say which directories are open to the server.
	//
	// Deprecated: by SEP-2577 in the 2026 revision; it may go in the first
	// revision on or after 2027-07-28. Use tool parameters or URIs instead.
	Roots *RootsCapability `json:"roots,omitzero"`
	// Experimental names abilities outside the protocol.
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	// Extensions holds the settings of each extension, under its full name.
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	// Other keeps every member that is not known here, such as the tasks of
	// one older revision.
	Other map[string]json.RawMessage `json:",embed"`
}

// ElicitationCapability says how a person can be asked. When neither is set,
// forms are meant.
type ElicitationCapability struct {
	Form Settings `json:"form,omitzero"`
	URL  Settings `json:"url,omitzero"`
}

// ServerCapabilities is what a server offers. A part that is nil is something
// it does not offer.
type ServerCapabilities struct {
	Tools       *ListCapability      `json:"tools,omitzero"`
	Resources   *ResourcesCapability `json:"resources,omitzero"`
	Prompts     *ListCapability      `json:"prompts,omitzero"`
	Completions Settings             `json:"completions,omitzero"`
	// Logging is there when the server sends log lines to callers that want
	// them.
	//
	// Deprecated: by SEP-2577 in the 2026 revision; it may go in the first
	// revision on or after 2027-07-28. Use stderr or OpenTelemetry instead.
	Logging Settings `json:"logging,omitzero"`
	// Experimental names features outside the protocol.
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	// Extensions holds the settings of each extension, under its full name.
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	// Other keeps every member that is not known here.
	Other map[string]json.RawMessage `json:",embed"`
}

// ListCapability offers a list.
type ListCapability struct {
	// ListChanged is set when changes of the list are announced.
	ListChanged bool `json:"listChanged,omitzero"`
}

// ResourcesCapability offers resources.
type ResourcesCapability struct {
	// Subscribe is set when changes of a single resource are announced.
	Subscribe bool `json:"subscribe,omitzero"`
	// ListChanged is set when changes of the list are announced.
	ListChanged bool `json:"listChanged,omitzero"`
}

// Covers reports whether a client with these capabilities can do everything
// that need asks for. Nil capabilities cover only a nil or empty need.
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
