package modern

import (
	"maps"
	"slices"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// appendResult appends the answer to a call that is complete.
func (s *Server) appendResult(dst []byte, r *request) []byte {
	dst, _, _ = s.splitResult(dst, r, true)
	return dst
}

// splitResult appends the answer to a call that is complete. Unless it is to be
// whole, the members of the body are left out, and returned with the index at
// which they belong.
func (s *Server) splitResult(dst []byte, r *request, whole bool) (out []byte, at int, body []byte) {
	res := &r.res
	dst = appendHead(dst, r.id)
	dst = rawjson.AppendString(dst, resultType(res))
	method := r.call.Method
	if method == mcp.MethodDiscover {
		dst = append(dst, `,"`+keyVersions+`":["`+string(Revision)+`"]`...)
	}
	if res.Type == "" && (protocol.Cacheable(method) || res.Cache != (mcp.Cache{}) && protocol.MayCache(method)) {
		dst = appendCache(dst, res.Cache)
	}
	if body = rawjson.Inside(res.Body); len(body) > 0 {
		dst = append(dst, ',')
		at = len(dst)
		if whole {
			dst = jsonrpc.AppendRaw(dst, body)
		}
	}
	m := metaWriter{dst: append(dst, `,"`+keyMeta+`":`...)}
	m.raw(mcp.MetaServerInfo, s.identity(res.Server))
	if method == mcp.MethodSubscriptionsListen {
		m.raw(mcp.MetaSubscriptionID, r.id)
	}
	m.rest(res.Meta)
	return append(m.end(`,"`+keyMeta+`":`), '}', '}'), at, body
}

// appendNeed appends the answer that ends a round with questions.
func (s *Server) appendNeed(dst []byte, r *request, need *mcp.InputRequired, state string, server *mcp.Implementation) []byte {
	dst = appendHead(dst, r.id)
	dst = append(dst, `"`+typeInput+`"`...)
	if len(need.Requests) > 0 {
		dst = append(dst, `,"`+keyInputRequests+`":{`...)
		for i, key := range slices.Sorted(maps.Keys(need.Requests)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			q := need.Requests[key]
			dst = append(rawjson.AppendString(dst, key), `:{"method":`...)
			dst = rawjson.AppendString(dst, q.Method)
			if q.Params != nil {
				dst = jsonrpc.AppendRaw(append(dst, `,"params":`...), q.Params)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, '}')
	}
	if state != "" {
		dst = rawjson.AppendString(append(dst, `,"`+keyState+`":`...), state)
	}
	m := metaWriter{dst: append(dst, `,"`+keyMeta+`":`...)}
	m.raw(mcp.MetaServerInfo, s.identity(server))
	return append(m.end(`,"`+keyMeta+`":`), '}', '}')
}

func appendHead(dst []byte, id jsonrpc.ID) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	return append(dst, `,"result":{"`+keyResultType+`":`...)
}

func resultType(res *mcp.Result) string {
	if res.Type == "" {
		return typeComplete
	}
	return res.Type
}

func appendCache(dst []byte, c mcp.Cache) []byte {
	scope := c.Scope
	if scope != mcp.ScopePublic {
		scope = mcp.ScopePrivate
	}
	dst = strconv.AppendInt(append(dst, `,"`+keyTTL+`":`...), max(0, c.TTL.Milliseconds()), 10)
	dst = append(append(dst, `,"`+keyScope+`":"`...), scope...)
	return append(dst, '"')
}

// appendNotification appends a notification that rides with a request.
func appendNotification(dst []byte, r *request, n mcp.Notification) []byte {
	dst = rawjson.AppendString(append(dst, `{"jsonrpc":"2.0","method":`...), n.Method)
	params := `,"params":{`
	dst = append(dst, params...)
	before := len(dst)
	if n.Method == mcp.NotificationProgress {
		dst = jsonrpc.AppendRaw(append(dst, `"`+keyProgressToken+`":`...), r.token)
	}
	comma := ""
	if len(dst) > before {
		comma = ","
	}
	m := metaWriter{dst: append(dst, comma+`"`+keyMeta+`":`...)}
	if r.call.Method == mcp.MethodSubscriptionsListen {
		m.raw(mcp.MetaSubscriptionID, r.id)
	}
	m.rest(n.Meta)
	dst = m.end(comma + `"` + keyMeta + `":`)
	if in := rawjson.Inside(n.Params); len(in) > 0 {
		if len(dst) > before {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendRaw(dst, in)
	}
	if len(dst) == before {
		return append(dst[:before-len(params)], '}')
	}
	return append(dst, '}', '}')
}

// A metaWriter appends a _meta object, or nothing if it would be empty.
type metaWriter struct {
	dst   []byte
	wrote bool
}

func (m *metaWriter) name(name string) {
	if m.wrote {
		m.dst = append(m.dst, ',')
	} else {
		m.dst = append(m.dst, '{')
	}
	m.wrote = true
	m.dst = append(rawjson.AppendString(m.dst, name), ':')
}

func (m *metaWriter) raw(name string, value []byte) {
	if len(value) > 0 {
		m.name(name)
		m.dst = jsonrpc.AppendRaw(m.dst, value)
	}
}

// rest appends what is not of the envelope; a key of the envelope that strayed
// in here is left out.
func (m *metaWriter) rest(meta mcp.Meta) {
	if len(meta) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		if !clientcall.Reserved(name) {
			m.raw(name, meta[name])
		}
	}
}

// end closes the object, or takes away the lead-in that was written for it.
func (m *metaWriter) end(lead string) []byte {
	if !m.wrote {
		return m.dst[:len(m.dst)-len(lead)]
	}
	return append(m.dst, '}')
}
