package modern

import (
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Refuse is the answer of a server that speaks nothing older: it names what it
// speaks, which may be the only thing that the person before an older client
// gets to see.
func Refuse(m *jsonrpc.Message) *jsonrpc.Error {
	if m.Method != "initialize" {
		return clientcall.ToWire((&envelope{}).readMeta(nil))
	}
	wanted, _ := rawjson.String(rawjson.Lookup(m.Params, "protocolVersion"))
	e := mcp.Errorf(mcp.CodeUnsupportedVersion, "this server speaks revision %s of the protocol and none that begins with initialize", Revision)
	return clientcall.ToWire(e.With(map[string]any{"supported": []mcp.Revision{Revision}, "requested": wanted}))
}
