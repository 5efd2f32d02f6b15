package joint

import "github.com/tenon-mcp/tenon/mcp"

// Broadcast brings a note that does not say whose it is to every open call
// that wants it, if all of those belong to one principal. Otherwise somebody
// would hear what is none of their business, and nobody hears it.
func Broadcast(open map[int64]*Open, n mcp.Note, wants func(*mcp.Call) bool) bool {
	var hear []*Open
	for _, o := range open {
		if !wants(o.Call) {
			continue
		}
		if len(hear) > 0 && hear[0].Call.Caller.Principal.Key() != o.Call.Caller.Principal.Key() {
			return false
		}
		hear = append(hear, o)
	}
	for _, o := range hear {
		o.Put(n)
	}
	return len(hear) > 0
}
