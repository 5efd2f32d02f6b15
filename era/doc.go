// Package era is the door of the house: it hears how a message opens and sends
// it to the wing that speaks so. It is the only place that knows that there are
// several revisions of the protocol; everything above it knows Handlers.
//
// For servers, a [Server] answers clients of every revision with one Handler:
// requests of the newest revision by themselves, those of older ones within a
// session. For clients, [Dial] finds out what the far end speaks and returns it
// as a Handler.
package era
