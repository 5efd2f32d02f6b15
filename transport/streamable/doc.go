// Package streamable is the server of MCP over HTTP: one endpoint that serves
// clients of every revision at the same time. The client is package
// streamclient.
//
// A [Handler] is an http.Handler. A request of the newest revision is one
// exchange: nothing of it is remembered, it runs on the goroutine that net/http
// gave it, and it is answered with JSON, or with a stream from the moment the
// call has something to tell on the side. When the client goes away the call is
// cancelled. Requests of older revisions belong to a session that initialize
// opened: it is bound to who opened it, bounded in number, and swept when
// nobody uses it.
//
// The way of a request:
//
//	guard     method, Host, Origin, content type         handler.go
//	body      limited in size and time                   handler.go
//	message   one strict decode                          jsonrpc.Decode
//	era       how does it open?                          handler.go
//	 modern   headers agree with the body, then serve    exchange.go, headers.go
//	 legacy   a session, and what goes on in it          session.go, legacy.go, batch.go
//	          what it hears, misses and is asked         hear.go, stream.go, asks.go
//	          what is kept of it                         store.go, memory.go, eventlog.go
//	          without sessions (Options.Stateless)       stateless.go
//	context   what a call sees of the request            context.go
//	status    one table                                  status.go
package streamable
