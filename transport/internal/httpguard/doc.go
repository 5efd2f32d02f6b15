// Package httpguard is what every HTTP transport asks of a request before it looks
// at the message in it: may this Host and this Origin come in, is the body
// JSON, is it small enough, does it arrive in time, and who sent it.
//
// A handler does not know where it listens, but each request does: net/http
// notes the local address of the connection. On a loopback address the caller
// is this machine, or a web page in a browser on it that got another name
// resolved to the address (DNS rebinding). So there a Host must be a loopback
// name or a listed one. On any other address the names by which a server is
// known are its operator's business, and Host is checked only when some are
// listed. A request that does not say where it arrived is taken for a loopback
// one; that is so for requests that no net/http server made.
package httpguard
