// Package modern is the codec for revision 2026-07-28: every request names its
// caller, and no state is kept. A server lifts the envelope off a request
// (lift.go) and stamps one on results and notifications (stamp.go); a client
// does the reverse (peer.go).
package modern

import (
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Revision is the revision of this package.
const Revision = mcp.Rev20260728

// The members of params and results that belong to the envelope.
const (
	keyMeta           = "_meta"
	keyInputResponses = "inputResponses"
	keyInputRequests  = "inputRequests"
	keyState          = "requestState"
	keyResultType     = "resultType"
	keyTTL            = "ttlMs"
	keyScope          = "cacheScope"
	keyVersions       = "supportedVersions"
	keyProgressToken  = "progressToken"

	typeComplete = "complete"
	typeInput    = "input_required"
)

// Opens reports whether a request or notification is modern: its _meta names the
// caller, or no legacy revision has its method.
func Opens(m *jsonrpc.Message) bool {
	if clientcall.ModernOnly(m.Method) {
		return true
	}
	for o := rawjson.Object(rawjson.Lookup(m.Params, keyMeta)); o.Next(); {
		switch string(o.Name) {
		case mcp.MetaProtocolVersion, mcp.MetaClientCapabilities, mcp.MetaClientInfo:
			return true
		}
	}
	return false
}

// NamedRevision returns the protocol version in the _meta of a message.
func NamedRevision(m *jsonrpc.Message) (mcp.Revision, bool) {
	raw := rawjson.LookupIn(m.Params, keyMeta, mcp.MetaProtocolVersion)
	if rawjson.EqualString(raw, string(Revision)) {
		return Revision, true
	}
	name, ok := rawjson.String(raw)
	return mcp.Revision(name), ok
}
