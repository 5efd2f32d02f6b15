// Package login logs an HTTP client in where a server asks for it, by the rules
// of MCP authorization: OAuth 2.1 with protected-resource metadata.
//
//	client := &http.Client{Transport: login.New(&login.Options{ClientName: "My program"})}
//
// A request is sent with the token that is known for its address, or with none.
// Where the server answers 401, or 403 with insufficient_scope, the Transport
// finds the authorization server, gets a token, and sends the request again:
//
//	challenge   WWW-Authenticate of the answer                    challenge.go
//	resource    who protects this address? (RFC 9728)             resource.go
//	server      what can the authorization server do? (RFC 8414)  server.go
//	client      who are we there? given, by URL, or registered    register.go
//	grant       a person in a browser, or a machine by itself     code.go, grants.go
//	pages       how many a person is shown                        pages.go
//	token       kept, refreshed, bound to a key (DPoP)            place.go, obtain.go, dpop.go
//
// What is refused, always: metadata about another resource or from another
// issuer, an authorization server without PKCE S256, a callback with a foreign
// state or issuer, plain http beyond this machine, an authorization page that
// is no plain http(s) URL, and credentials of one authorization server at
// another. All documents and tokens are fetched by package fetch.
//
// Many requests that meet 401 at once share one login, and processes that share
// a store share their tokens. A token that is refused as soon as it was issued
// is not renewed again and again: the caller gets the 401. A person sees at most
// 3 login pages for one server within 10 minutes. A server that publishes no
// metadata wants a credential that no login brings ([CredentialError]). Errors
// and logs never show a token, a secret, a code or a key.
package login
