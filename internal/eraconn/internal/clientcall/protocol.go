package clientcall

import (
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// LegacyOnly reports whether only legacy revisions have a method, or none has it
// because it is private.
func LegacyOnly(method string) bool {
	switch method {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodLoggingSetLevel, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return true
	}
	return protocol.IsPrivate(method)
}

// ModernOnly reports whether no legacy revision has a method.
func ModernOnly(method string) bool {
	return method == mcp.MethodDiscover || method == mcp.MethodSubscriptionsListen
}

// Reserved reports whether a key of _meta belongs to the envelope of one era or
// another. Such a key means something to the far end of one connection only,
// so it is never passed on.
func Reserved(key string) bool {
	switch key {
	case mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaLogLevel,
		mcp.MetaServerInfo, mcp.MetaSubscriptionID, mcp.MetaProgressToken:
		return true
	}
	return false
}

// AddMeta puts the members of a _meta object into m, which may be nil, except
// those that are reserved.
func AddMeta(m mcp.Meta, raw []byte) mcp.Meta {
	for o := rawjson.Object(raw); o.Next(); {
		if Reserved(string(o.Name)) {
			continue
		}
		if m == nil {
			m = mcp.Meta{}
		}
		m[string(o.Name)] = o.Value
	}
	return m
}

// IsToken reports whether raw can be a progress token: a string or an integer.
func IsToken(raw []byte) bool {
	if rawjson.IsString(raw) {
		return true
	}
	for i, b := range raw {
		if (b < '0' || b > '9') && (b != '-' || i > 0) {
			return false
		}
	}
	return len(raw) > 0
}
