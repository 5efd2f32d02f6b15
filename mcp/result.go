package mcp

import (
	"encoding/json"
	"time"
)

// A Result is what a call comes to.
type Result struct {
	// Body is the result object without any envelope key; nil means {}.
	Body json.RawMessage

	// Meta is what the server put into _meta beside the reserved keys.
	Meta Meta

	// Type is the resultType of an extension (such as "task"). Empty means
	// that the call is complete; input that is needed is not a Result but a
	// [InputRequired] error.
	Type string

	// Cache says how long the result may be kept and by whom; the zero value
	// means not at all. It counts only for the methods that are cacheable.
	Cache Cache

	// Server is who answered, for display; nil means that it is not known.
	Server *Implementation
}

// Cache is a server's word on how long a result stays good.
type Cache struct {
	// TTL is how long the result may be used again; 0 means not at all.
	TTL time.Duration
	// Scope is who may use it again; empty means [ScopePrivate].
	Scope CacheScope
}

// A CacheScope says who may share a kept result.
type CacheScope string

const (
	// ScopePrivate results are kept for one authorization context only.
	ScopePrivate CacheScope = "private"
	// ScopePublic results are the same for everybody.
	ScopePublic CacheScope = "public"
)
