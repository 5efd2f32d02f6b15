// Package httpsse is the HTTP+SSE transport of revision 2024-11-05: a stream of
// server-sent events for what the server says, and a POST for each message of
// the client. Later revisions replaced it by package streamable; it is here for
// clients and servers that know nothing newer.
//
// A [Handler] serves it beside other handlers of a mux. A session lives as long
// as its stream and cannot be resumed. What is said in it is package era's
// business, so a client may speak any revision.
//
// An [Endpoint] is the other side, a server to connect to.
//
// Deprecated: nothing new should be built on this transport.
package httpsse
