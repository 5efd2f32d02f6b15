package mcp

import "encoding/json"

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
