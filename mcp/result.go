package mcp

import (
	"encoding/json"
	"time"
)

// A Result is the result of a call.
type Result struct {
	// Body is the JSON object of the result without envelope keys; nil means
	// {}.
	Body json.RawMessage

	// Meta holds the members of _meta, except for the reserved keys.
	Meta Meta

	// Type is the resultType of an extension, such as "task". Empty means
	// complete. A result of the type input_required is an [InputRequired] error
	// instead.
	Type string

	// Cache says for how long the result may be cached; the zero value means
	// not at all. It applies only to lists, server/discover, resources/read
	// and methods of extensions; the result of such a method says nothing
	// about caching if Cache is the zero value.
	Cache Cache

	// Server is the name and version of the server, for display; nil means
	// unknown.
	Server *Implementation
}

// Cache says for how long, and by whom, a result may be cached.
type Cache struct {
	// TTL is how long the result may be reused; 0 means not at all.
	TTL time.Duration
	// Scope is who may reuse it; empty means [ScopePrivate].
	Scope CacheScope
}

// A CacheScope says who may share a cached result.
type CacheScope string

const (
	// ScopePrivate results are cached for one authorization context only.
	ScopePrivate CacheScope = "private"
	// ScopePublic results are the same for every caller.
	ScopePublic CacheScope = "public"
)

// PageParams is the parameters of a call that lists items.
type PageParams struct {
	// Cursor is the NextCursor of the previous page; nil requests the first
	// page. The empty string is a valid cursor.
	Cursor *string `json:"cursor,omitzero"`
}
