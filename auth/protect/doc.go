// Package protect wraps an http.Handler, such as an MCP endpoint, as an OAuth
// 2.1 resource server.
//
//	guard, err := protect.New(&protect.Options{
//		Resource:             "https://mcp.example.com/mcp",
//		AuthorizationServers: []string{"https://login.example.com"},
//	})
//	http.Handle("/mcp", guard.Wrap(handler))
//
// The flow of a request is:
//
//	credentials   one Authorization header, Bearer or DPoP      identity.go
//	identity      a Verifier returns the principal              jwt.go, introspect.go, apikey.go
//	possession    a token bound to a key needs a proof          dpop.go
//	scopes        those of every request and of this one        operation.go
//	handler       with the principal, without the token         guard.go
//
// If a step fails, the Guard responds with a challenge that tells the client
// what to do, and does not call the handler. If a token cannot be verified
// because a key set or an introspection endpoint is down, the Guard responds
// with 503, so that the client keeps its token and tries again.
//
// The handler gets the [Principal] but no Authorization header, so it cannot
// pass the token on to a third party. A gateway that exchanges the token asks for
// it with KeepToken.
package protect
