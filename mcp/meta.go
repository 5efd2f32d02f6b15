package mcp

import (
	"encoding/json"
	"strings"
)

// Meta is a _meta object. In a Call, a Result and a Notification it excludes
// the keys of the envelope.
type Meta map[string]json.RawMessage

// The keys of _meta that the protocol defines. Package era alone reads and
// writes those of the envelope.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaProgressToken      = "progressToken"

	// W3C Trace Context. These keys travel with a call unchanged.
	MetaTraceparent = "traceparent"
	MetaTracestate  = "tracestate"
	MetaBaggage     = "baggage"
)

// MetaValue decodes the value of key as a T. It returns false if the key is
// absent or the value is not a T.
func MetaValue[T any](m Meta, key string) (T, bool) {
	var v T
	raw, ok := m[key]
	if !ok || Unmarshal(raw, &v) != nil {
		var none T
		return none, false
	}
	return v, true
}

// ValidMetaKey reports whether key is a valid _meta key: an optional prefix of
// dotted labels that ends with a slash, followed by a name.
func ValidMetaKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		return key != "" && validMetaName(key)
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !validMetaLabel(label) {
			return false
		}
	}
	return validMetaName(name)
}

// ReservedMetaKey reports whether key is reserved for the protocol and its
// official extensions: the second label of its prefix is mcp or
// modelcontextprotocol, or it is one of the reserved names without a prefix.
func ReservedMetaKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		switch key {
		case MetaProgressToken, MetaTraceparent, MetaTracestate, MetaBaggage:
			return true
		}
		return false
	}
	_, rest, _ := strings.Cut(prefix, ".")
	second, _, _ := strings.Cut(rest, ".")
	return second == "modelcontextprotocol" || second == "mcp"
}

func validMetaLabel(s string) bool {
	if s == "" || !isLetter(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func validMetaName(s string) bool {
	if s == "" {
		return true
	}
	if !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool  { return isLetter(c) || '0' <= c && c <= '9' }
