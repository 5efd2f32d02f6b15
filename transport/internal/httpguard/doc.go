// Package httpguard has the checks that every HTTP transport makes before it
// decodes a message: the Host and Origin headers, the content type, the size and
// timing of the body, and the principal.
//
// The check of Host depends on the local address of the connection, which
// net/http stores in the context of a request. On a loopback address, a request
// comes from this machine, possibly from a web page whose name was rebound to
// the address (DNS rebinding), so Host must be a loopback name or a listed one.
// On other addresses, Host is checked only if names are listed. A request
// without a local address, which no net/http server makes, counts as one to a
// loopback address.
package httpguard
