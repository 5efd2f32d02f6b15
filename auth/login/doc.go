// Package login is an [http.RoundTripper] that logs in where a server requires
// it, by the MCP authorization specification: OAuth 2.1 with protected resource
// metadata.
//
//	client := &http.Client{Transport: login.New(&login.Options{ClientName: "My program"})}
//
// The Transport sends a request with the token it has for the URL, or without
// one. If the server responds with 401, or 403 with insufficient_scope, it
// finds
// the authorization server, obtains a token, and sends the request again:
//
//	challenge   WWW-Authenticate of the response                  challenge.go
//	resource    the protected resource metadata (RFC 9728)        resource.go
//	server      the authorization server metadata (RFC 8414)      server.go
//	client      configured, metadata URL, or registered           register.go
//	grant       a user in a browser, or a grant without a user    code.go, grants.go
//	pages       the limit on login pages                          pages.go
//	token       stored, refreshed, bound to a key (DPoP)          endpoint.go, obtain.go, dpop.go
//
// It always refuses metadata for another resource or from another issuer, an
// authorization server without PKCE S256, a callback with a wrong state or
// issuer, plain http to other machines, an authorization page that is not a
// plain http(s) URL, and the use of credentials of one authorization server at
// another. Package fetch gets all documents and tokens.
//
// Concurrent requests that receive 401 share one login, and processes that
// share
// a store share their tokens. A token that is refused right after it was issued
// is not renewed again: the caller gets the 401. A user sees at most 3 login
// pages for one server within 10 minutes. A server without metadata needs a
// credential that a login cannot provide ([CredentialError]). Errors and logs
// never contain a token, a secret, a code or a key.
package login
