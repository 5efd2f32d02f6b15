package modern

import (
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// maxTTL bounds the ttlMs of a result.
const maxTTL = 24 * time.Hour

// reply holds the members of a result's envelope as raw JSON.
type reply struct {
	kind, meta, ttl, scope, inputRequests, state []byte

	cacheable bool // ttl and scope are those of the envelope
}

// liftResult removes the envelope of a result.
func (p *Peer) liftResult(c *mcp.Call, raw []byte) (mcp.Result, error) {
	var res mcp.Result
	e := reply{cacheable: protocol.Cacheable(c.Method)}
	if !e.cacheable && protocol.MayCache(c.Method) { // an extension may use one of the names for something else
		e.cacheable = rawjson.Lookup(raw, keyTTL) != nil && rawjson.Lookup(raw, keyScope) != nil
	}
	res.Body = rawjson.CutOwn(raw, func(name, value []byte) bool { return e.take(c.Method, name, value) })
	kind := typeComplete
	if e.kind != nil {
		var ok bool
		if kind, ok = rawjson.String(e.kind); !ok {
			return mcp.Result{}, clientcall.Invalid(c.Method, "its resultType is not a string")
		}
	}
	switch kind {
	case "":
		return mcp.Result{}, clientcall.Invalid(c.Method, "its resultType is empty")
	case typeComplete:
	case typeInput:
		return mcp.Result{}, p.liftNeed(c, &e)
	default:
		if !p.declaresExtension(c) {
			return mcp.Result{}, clientcall.Invalid(c.Method, "its resultType "+strconv.Quote(kind)+" belongs to no extension that was declared")
		}
		res.Type = kind
	}
	for o := rawjson.Object(e.meta); o.Next(); {
		switch name := string(o.Name); {
		case name == mcp.MetaServerInfo:
			res.Server = p.readServer(o.Value)
		case !clientcall.Reserved(name):
			if res.Meta == nil {
				res.Meta = mcp.Meta{}
			}
			res.Meta[name] = o.Value
		}
	}
	if e.cacheable {
		res.Cache = e.cache()
	}
	return res, nil
}

// take keeps a member of the envelope and reports whether it is one.
func (e *reply) take(method string, name, value []byte) bool {
	switch string(name) {
	case keyResultType:
		e.kind = value
	case keyMeta:
		e.meta = value
	case keyTTL:
		e.ttl = value
		return e.cacheable
	case keyScope:
		e.scope = value
		return e.cacheable
	case keyInputRequests:
		e.inputRequests = value
		return protocol.MayRequireInput(method)
	case keyState:
		e.state = value
		return protocol.MayRequireInput(method)
	case keyVersions:
		return method == mcp.MethodDiscover
	default:
		return false
	}
	return true
}

// cache returns the cache hints; invalid ones mean that the result is not cached.
func (e *reply) cache() mcp.Cache {
	ms, err := strconv.ParseFloat(string(e.ttl), 64)
	if err != nil || !(ms > 0) {
		ms = 0
	}
	c := mcp.Cache{TTL: maxTTL, Scope: mcp.ScopePrivate}
	if ms < float64(maxTTL.Milliseconds()) {
		c.TTL = time.Duration(ms) * time.Millisecond
	}
	if rawjson.EqualString(e.scope, string(mcp.ScopePublic)) {
		c.Scope = mcp.ScopePublic
	}
	return c
}

// liftNeed reads an input_required result. Input requests must be covered by the
// caller's capabilities.
func (p *Peer) liftNeed(c *mcp.Call, e *reply) error {
	if !protocol.MayRequireInput(c.Method) {
		return clientcall.Invalid(c.Method, "this method may not return input_required")
	}
	if e.inputRequests == nil && e.state == nil {
		return clientcall.Invalid(c.Method, "input_required without inputRequests or requestState")
	}
	need := &mcp.InputRequired{Requests: map[string]mcp.InputRequest{}}
	if e.state != nil {
		var ok bool
		if need.State, ok = rawjson.String(e.state); !ok {
			return clientcall.Invalid(c.Method, "its requestState is not a string")
		}
	}
	caller := c.Caller
	if caller.Capabilities == nil {
		caller.Capabilities = &p.profile.Capabilities
	}
	if e.inputRequests != nil && !rawjson.IsObject(e.inputRequests) {
		return clientcall.Invalid(c.Method, "its inputRequests is not an object")
	}
	for o := rawjson.Object(e.inputRequests); o.Next(); {
		var q mcp.InputRequest
		if err := mcp.Unmarshal(o.Value, &q); err != nil {
			return clientcall.Invalid(c.Method, "its inputRequests cannot be read: "+err.Error())
		}
		if err := caller.CanHandle(q); err != nil {
			return clientcall.Invalid(c.Method, "it requires input that the client has not declared: "+err.Error())
		}
		need.Requests[string(o.Name)] = q
	}
	return need
}

func (p *Peer) declaresExtension(c *mcp.Call) bool {
	if c.Caller.Capabilities != nil {
		return len(c.Caller.Capabilities.Extensions) > 0
	}
	return len(p.profile.Capabilities.Extensions) > 0
}

// introducedServer caches the decoded serverInfo, which each result repeats in
// the same bytes.
type introducedServer struct {
	raw    string
	server *mcp.Implementation
}

func (p *Peer) readServer(raw []byte) *mcp.Implementation {
	if in := p.server.Load(); in != nil && in.raw == string(raw) {
		return in.server
	}
	server := new(mcp.Implementation)
	if mcp.Unmarshal(raw, server) != nil {
		return nil // it is for display only
	}
	p.server.Store(&introducedServer{string(raw), server})
	return server
}
