// Package streamable is the server of MCP over HTTP: one endpoint that serves
// clients of every revision at the same time. The client is package
// streamclient.
//
// A [Handler] is an http.Handler:
//
//	h, err := streamable.NewHandler(server, nil)
//	http.Handle("/mcp", h)
//
// A modern request is one exchange without state. It runs on the goroutine of
// net/http, and its response is JSON or, once the call sends a notification, an
// event stream. When the client disconnects, the call is cancelled. A legacy
// request belongs to a session that initialize opens. A session is bound to the
// principal that opened it; sessions are bounded in number and expire when idle.
//
// The path of a request:
//
//	guard     method, Host, Origin, content type         handler.go
//	body      limited in size and time                   handler.go
//	message   one strict decode                          jsonrpc.Decode
//	era       modern or legacy                           handler.go
//	 modern   headers agree with the body, then serve    exchange.go, headers.go
//	 legacy   sessions and their requests                session.go, legacy.go, batch.go
//	          streams, resumption, input requests        get.go, stream.go, inputrequests.go
//	          stored state                               backend.go, store.go, eventlog.go
//	          one of many replicas (Options.Cluster)     cluster.go, forward.go
//	          without sessions (Options.Stateless)       stateless.go
//	context   the context of a call                      context.go
//	hijacked  streams that stay open                     hijack.go
package streamable
