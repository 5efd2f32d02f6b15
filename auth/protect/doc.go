// Package protect lets nobody in by mistake: it wraps an http.Handler, such as
// an MCP endpoint, as a resource server of OAuth 2.1.
//
// The way of one request:
//
//	credentials   one Authorization header, Bearer or DPoP      credentials.go
//	identity      a Verifier says whose token it is             jwt.go, introspect.go, apikey.go
//	possession    a token bound to a key needs its proof        dpop.go
//	scopes        those of every request, and of this one       scopes.go, operation.go
//	onwards       with the principal, without the token         guard.go
//
// Whatever fails on this way is answered here, with the challenge that tells a
// client what to do about it; the handler behind does not run. What cannot be
// decided because somebody else is down (a key set, an introspection endpoint)
// is not let in either, but answered with 503, so that a client keeps its token
// and comes back.
//
// The token goes no further: the handler sees [Principal] and no Authorization
// header, so it cannot pass the token on to a third party.
package protect
